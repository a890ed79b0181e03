import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'

/** Brotli quality: takes a second; the highest would take half a minute for a tenth less. */
const QUALITY = 9

/**
 * Compresses a file below `node_modules` with Brotli and returns base64. For a macro: it runs when the module that calls it is
 * compiled, so the executable, which holds a text twice, has a fourth of the bytes.
 */
export function compressFile(path: string): string {
  const file = readFileSync(join(import.meta.dir, '../../../node_modules', path))
  const params = { [constants.BROTLI_PARAM_QUALITY]: QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: file.length }
  return brotliCompressSync(file, { params }).toString('base64')
}

/** Reads the version of an installed package. For a macro, too. */
export function readPackageVersion(name: string): string {
  const text = readFileSync(join(import.meta.dir, '../../../node_modules', name, 'package.json'), 'utf8')
  return String(JSON.parse(text).version)
}
