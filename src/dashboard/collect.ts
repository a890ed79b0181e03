import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Order matters: later styles override earlier ones. */
const STYLES = ['base', 'parts', 'explore', 'worth', 'rows', 'what_if', 'life', 'account', 'text'].map(
  (name) => `style/${name}.css`,
)
const SCRIPT = /^\w+\/main\.tsx$/

/**
 * Collects all files of the pages, styles first: path below this folder, and text. For a macro: it runs when the module that
 * calls it is compiled.
 */
export function collectFiles() {
  const read = (path: string) => ({ path, text: readFileSync(join(import.meta.dir, path), 'utf8') })
  return [...[...STYLES, 'icon.svg'].map(read), ...collectScripts()]
}

/**
 * Bundles the script of each page with its imports, so that a browser sends one request instead of eighty. Identifiers stay
 * unminified, so that error messages name them.
 */
function collectScripts() {
  const paths = readdirSync(import.meta.dir, { recursive: true, encoding: 'utf8' }).filter((path) => SCRIPT.test(path))
  const outdir = mkdtempSync(join(tmpdir(), 'walletscope-pages-'))
  const options = ['--root=.', `--outdir=${outdir}`, '--target=browser', '--minify-syntax', '--minify-whitespace']
  try {
    // Bundles in a separate process: Bun cannot bundle within a macro, because it would wait for itself. Only with
    // this NODE_ENV are the bytes the same everywhere: with that of developers Bun compiles markup in another way.
    const env = { NODE_ENV: 'production' }
    execFileSync(process.execPath, ['build', ...paths, ...options], { cwd: import.meta.dir, env, stdio: 'pipe' })
    const scripts = paths.sort().map((path) => path.replace(/\.tsx$/, '.js'))
    return scripts.map((path) => ({ path, text: readFileSync(join(outdir, path), 'utf8') }))
  } finally {
    rmSync(outdir, { recursive: true, force: true })
  }
}
