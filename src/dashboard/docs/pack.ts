import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

/**
 * A file below `node_modules`, packed by gzip, in base64. For a macro: it runs when the module that calls it is
 * compiled, so that the executable holds a fourth of the bytes.
 */
export function packed(path: string): string {
  const file = readFileSync(join(import.meta.dir, '../../../node_modules', path))
  return gzipSync(file, { level: 9 }).toString('base64')
}

/** Version of an installed package. For a macro, too. */
export function versionOf(name: string): string {
  const text = readFileSync(join(import.meta.dir, '../../../node_modules', name, 'package.json'), 'utf8')
  return String(JSON.parse(text).version)
}
