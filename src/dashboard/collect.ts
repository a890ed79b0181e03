import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** In the order in which they apply. */
const STYLES = ['base', 'parts', 'explore', 'what_if', 'life', 'account', 'text'].map((name) => `style/${name}.css`)
const VENDOR = {
  'vendor/htm.js': 'htm/dist/htm.mjs',
  'vendor/preact.js': 'preact/dist/preact.mjs',
  'vendor/preact_hooks.js': 'preact/hooks/dist/hooks.mjs',
}

/**
 * Everything that the pages load, styles first: paths below their folder, and what stands there. For a macro: it runs
 * when the module that calls it is compiled.
 */
export function collectFiles() {
  const read = (path: string, file = path) => ({ path, text: readFileSync(join(import.meta.dir, file), 'utf8') })
  const scripts = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.js'),
  )
  return [
    ...[...STYLES, 'icon.svg'].map((path) => read(path)),
    ...Object.entries(VENDOR).map(([path, file]) => read(path, join('../../node_modules', file))),
    ...scripts.sort().map((path) => read(path)),
  ]
}
