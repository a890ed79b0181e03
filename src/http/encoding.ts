import { gzipSync } from 'node:zlib'

/** Least length of a compressed body; shorter ones fit into one packet. */
const COMPRESSED_LENGTH_MIN = 1_024
/** The fastest level, as every answer is compressed again; the next levels save a tenth and take twice as long. */
const LEVEL = 1

/**
 * Compresses a body in an encoding that the caller accepts; undefined to send it as it is. Prefers zstd, which is
 * faster and shorter than gzip; only Bun has it.
 */
export function compressBody(
  body: string,
  accept: string | null,
): { readonly encoding: 'zstd' | 'gzip'; readonly bytes: Uint8Array<ArrayBuffer> } | undefined {
  if (accept === null || !isCompressible(body)) return undefined
  const accepted = parseAccepted(accept)
  if (zstd !== undefined && accepted.includes('zstd')) return { encoding: 'zstd', bytes: zstd(body) }
  if (!accepted.includes('gzip')) return undefined
  return { encoding: 'gzip', bytes: new Uint8Array(gzipSync(body, { level: LEVEL })) }
}

/** True if the body is long enough to be compressed for callers that accept it. */
export function isCompressible(body: string): boolean {
  return body.length >= COMPRESSED_LENGTH_MIN
}

/** True if the client accepts gzip. */
export function acceptsGzip(request: Request): boolean {
  return parseAccepted(request.headers.get('accept-encoding') ?? '').includes('gzip')
}

const zstd =
  typeof Bun === 'undefined'
    ? undefined
    : (body: string) => new Uint8Array(Bun.zstdCompressSync(body, { level: LEVEL }))

/** Parses the names in an `Accept-Encoding`, without those of weight zero. */
function parseAccepted(accept: string): readonly string[] {
  const parts = accept.toLowerCase().split(',')
  return parts.filter((part) => !/;\s*q=0(?:\.0*)?\s*$/.test(part)).map((part) => (part.split(';')[0] ?? '').trim())
}
