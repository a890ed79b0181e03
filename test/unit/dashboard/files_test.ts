import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Glob } from 'bun'
import { DASHBOARD_FILES, DASHBOARD_PAGES, OPERATOR_PAGES } from '../../../src/dashboard/files.ts'

const FOLDER = join(import.meta.dir, '../../../src/dashboard')
const SERVED = new Map(DASHBOARD_FILES.map(({ path, text }) => [path, text]))
const SCRIPTS = [...Object.values(DASHBOARD_PAGES), ...Object.values(OPERATOR_PAGES)].map(({ script }) => script)
/** The source of each module. */
const MODULES = [...new Glob('{explore,lib,operator,part,usage}/**/*.{ts,tsx}').scanSync(FOLDER)].map(
  (path) => [path, read(path)] as const,
)

function read(path: string): string {
  return readFileSync(join(FOLDER, path), 'utf8')
}

test('every style and picture of the folder is served unchanged, and one script per page', () => {
  const unchanged = [...new Glob('**/*.{css,svg}').scanSync(FOLDER)]
  expect([...SERVED.keys()].sort()).toEqual([...unchanged, ...SCRIPTS].sort())
  expect(SERVED.size).toBe(DASHBOARD_FILES.length)
  for (const path of unchanged) expect(SERVED.get(path)).toBe(read(path))
  for (const path of SCRIPTS) {
    const { imports, exports } = new Bun.Transpiler({ loader: 'js' }).scan(SERVED.get(path) ?? '')
    expect({ path, imports, exports }).toEqual({ path, imports: [], exports: [] })
  }
})

test('every module is imported, or is the script of a page', () => {
  const imported = MODULES.flatMap(([path, text]) =>
    [...text.matchAll(/(?:from|import)\s+'(\.[^']+)'/g)].map(([, name = '']) => normalize(join(dirname(path), name))),
  )
  const used = new Set([...imported, ...SCRIPTS.map((path) => path.replace(/\.js$/, '.tsx'))])
  expect(MODULES.map(([path]) => path).filter((path) => !used.has(path))).toEqual([])
})

/** Names of formats, and where viem's messages point to: nothing is loaded from there. */
const KNOWN = ['http://www.w3.org/', 'https://viem.sh']

test('nothing is loaded from elsewhere, and nothing is parsed as markup or run as code', () => {
  for (const [path, text] of SERVED) {
    const addresses = [...text.matchAll(/https?:\/\/[^\s'"`)]+/g)].map(([address]) => address)
    expect({ path, addresses: addresses.filter((each) => !KNOWN.some((known) => each.startsWith(known))) }).toEqual({
      path,
      addresses: [],
    })
  }
  for (const [path, text] of MODULES) {
    expect({ path, found: /innerHTML|insertAdjacentHTML|\beval\(|new Function/i.test(text) }).toEqual({
      path,
      found: false,
    })
  }
})

test('modules of the pages stay small, and a page imports from its own folder and the shared ones only', () => {
  for (const [path, text] of MODULES)
    expect({ path, long: text.split('\n').length > 330 }).toEqual({ path, long: false })
  const foreign = MODULES.flatMap(([path, text]) => {
    const room = path.split('/')[0] ?? ''
    const targets = [...text.matchAll(/from\s+'(\.[^']+)'/g)].map(([, name = '']) =>
      normalize(join(dirname(path), name)),
    )
    return (
      targets
        // The typed clients, of which only types are imported.
        .filter((target) => !target.startsWith('../../dist/client/'))
        .filter((target) => ![room, 'lib', 'part'].includes(target.split('/')[0] ?? ''))
        .map((to) => `${path} → ${to}`)
    )
  })
  expect(foreign).toEqual([])
})
