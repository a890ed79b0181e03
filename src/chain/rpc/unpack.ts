import { promisify } from 'node:util'
import zlib, { type ZlibOptions } from 'node:zlib'
import { UpstreamError } from '../../lib/error.ts'
import { EndpointError } from './error.ts'

/** Size limit of an answer, bytes, packed and unpacked: far above honest answers, and small enough for memory. */
export const BODY_BYTES_MAX = 8 * 1024 * 1024

/** More codings than one are rare, and each costs another pass. */
const CODINGS_MAX = 3

type Decoder = (bytes: Uint8Array, options: ZlibOptions) => Promise<Uint8Array>

const gunzip = promisify(zlib.gunzip) as Decoder
const inflate = promisify(zlib.inflate) as Decoder
const inflateRaw = promisify(zlib.inflateRaw) as Decoder

/** The low four bits of the first byte tell the zlib format from the raw one, which some servers send as `deflate`. */
function isZlib(bytes: Uint8Array): boolean {
  return ((bytes[0] ?? 0) & 0x0f) === 8
}

const DECODERS: ReadonlyMap<string, Decoder> = new Map([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', (bytes, options) => (isZlib(bytes) ? inflate : inflateRaw)(bytes, options)],
  ['br', promisify(zlib.brotliDecompress) as Decoder],
  // Node has it since version 22.15.
  ...('zstdDecompress' in zlib
    ? [['zstd', promisify(zlib.zstdDecompress as typeof zlib.gunzip) as Decoder] as const]
    : []),
])

/** The codings that `unpack` knows, for `Accept-Encoding`. */
export const ACCEPTED_CODINGS = [...DECODERS.keys()].filter((name) => name !== 'x-gzip').join(', ')

/**
 * Unpacks a body by its `Content-Encoding`, and stops at `BODY_BYTES_MAX`: a few hundred bytes may stand for gigabytes.
 * Throws `EndpointError` (too_large), and `UpstreamError` for bytes or a coding that cannot be read.
 */
export async function unpack(body: Uint8Array, contentEncoding: string | undefined): Promise<Uint8Array> {
  const codings = (contentEncoding ?? '')
    .toLowerCase()
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '' && each !== 'identity')
  if (codings.length > CODINGS_MAX) throw new UpstreamError('The answer is packed too often')
  let bytes = body
  // The last coding was applied last.
  for (const coding of codings.reverse()) {
    const decode = DECODERS.get(coding)
    if (decode === undefined) throw new UpstreamError('The answer is packed in an unknown way')
    bytes = await decode(bytes, { maxOutputLength: BODY_BYTES_MAX }).catch((error: { readonly code?: unknown }) => {
      throw error.code === 'ERR_BUFFER_TOO_LARGE'
        ? responseTooLargeError()
        : new UpstreamError('The answer cannot be unpacked, or was cut off')
    })
  }
  return bytes
}

/** The error of a body beyond `BODY_BYTES_MAX`. */
export function responseTooLargeError(): EndpointError {
  return new EndpointError('too_large', `The answer is longer than ${BODY_BYTES_MAX} bytes`)
}
