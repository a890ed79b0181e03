import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** In the order in which they apply. */
const STYLES = ['base', 'parts', 'explore', 'what_if', 'life', 'account', 'text'].map((name) => `style/${name}.css`)
const SCRIPT = /^\w+\/main\.js$/

/**
 * Everything that the pages load, styles first: paths below their folder, and what stands there. For a macro: it runs
 * when the module that calls it is compiled.
 */
export function collectFiles() {
  const read = (path: string) => ({ path, text: readFileSync(join(import.meta.dir, path), 'utf8') })
  return [...[...STYLES, 'icon.svg'].map(read), ...collectScripts()]
}

/**
 * The script of each page with all that it imports, so that a browser asks once and not for each of eighty modules.
 * Names stay: errors say where they come from.
 */
function collectScripts() {
  const paths = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' }).filter((path) => SCRIPT.test(path))
  const outdir = mkdtempSync(join(tmpdir(), 'walletscope-pages-'))
  const options = ['--root=.', `--outdir=${outdir}`, '--target=browser', '--minify-syntax', '--minify-whitespace']
  try {
    // A process of its own: within a macro Bun refuses to compile, as it would wait for itself.
    execFileSync(process.execPath, ['build', ...paths, ...options], { cwd: import.meta.dir, stdio: 'pipe' })
    return paths.sort().map((path) => ({ path, text: readFileSync(join(outdir, path), 'utf8') }))
  } finally {
    rmSync(outdir, { recursive: true, force: true })
  }
}
