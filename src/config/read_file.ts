import { closeSync, openSync, readSync } from 'node:fs'
import { getErrnoCode } from '../lib/error.ts'

/** Maximum size of a file that configuration names, bytes. */
const FILE_BYTES_MAX = 20_000_000
const CHUNK_BYTES = 65_536
/** The system's code for it. */
const TOO_LONG = 'EFBIG'

/**
 * Reads a file or a pipe as text, without a byte order mark. Throws as `openSync`, and if it is longer than 20 MB,
 * without reading the rest.
 */
export function readTextFile(path: string): string {
  const file = openSync(path, 'r')
  try {
    const chunks: Uint8Array[] = []
    for (let bytes = 0; ; ) {
      const chunk = new Uint8Array(CHUNK_BYTES)
      const length = readSync(file, chunk)
      if (length === 0) return new TextDecoder().decode(Buffer.concat(chunks))
      bytes += length
      if (bytes > FILE_BYTES_MAX) throw Object.assign(new Error('The file is too long'), { code: TOO_LONG })
      chunks.push(chunk.subarray(0, length))
    }
  } finally {
    closeSync(file)
  }
}

/** Describes why a file could not be read, without its name or content, which may be secret. */
export function describeReadError(error: unknown): string {
  return getErrnoCode(error) === TOO_LONG
    ? `expected a file of at most ${FILE_BYTES_MAX / 1_000_000} MB`
    : 'cannot read the file'
}
