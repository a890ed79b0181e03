import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { Glob } from 'bun'
import { DASHBOARD_FILES, DASHBOARD_MODULES, DASHBOARD_PAGES, OPERATOR_PAGES } from '../../src/dashboard/files.ts'

const FOLDER = join(import.meta.dir, '../../src/dashboard')
const BY_PATH = new Map(DASHBOARD_FILES.map(({ path, text }) => [path, text]))
const OWN = [...BY_PATH].filter(([path]) => path.endsWith('.js') && !path.startsWith('vendor/'))

test('every file of the folder is served as it is, once', () => {
  const found = [...new Glob('**/*.{js,css,svg}').scanSync(FOLDER)].sort()
  const served = [...BY_PATH.keys()].filter((path) => !path.startsWith('vendor/')).sort()
  expect(served).toEqual(found)
  expect(BY_PATH.size).toBe(DASHBOARD_FILES.length)
  for (const path of found) expect(BY_PATH.get(path)).toBe(readFileSync(join(FOLDER, path), 'utf8'))
})

test('every import leads to a file that is served, and every file is imported', () => {
  const imports = OWN.flatMap(([path, text]) =>
    [...text.matchAll(/(?:from|import)\s+'([^']+)'/g)].map(([, name = '']) =>
      name.startsWith('.') ? normalize(join(dirname(path), name)) : DASHBOARD_MODULES[name],
    ),
  )
  const scripts = [...Object.values(DASHBOARD_PAGES), ...Object.values(OPERATOR_PAGES)].map(({ script }) => script)
  expect(imports.filter((path) => path === undefined || !BY_PATH.has(path))).toEqual([])
  const used = new Set([...imports, ...scripts])
  expect(OWN.map(([path]) => path).filter((path) => !used.has(path))).toEqual([])
})

test('nothing is loaded from elsewhere, and nothing is parsed as markup or run as code', () => {
  for (const [path, text] of BY_PATH) {
    const addresses = [...text.matchAll(/https?:\/\/[^\s'"`)]+/g)].map(([address]) => address)
    expect({ path, addresses: addresses.filter((each) => !each.startsWith('http://www.w3.org/')) }).toEqual({
      path,
      addresses: [],
    })
  }
  for (const [path, text] of OWN) {
    expect({ path, found: /innerHTML|insertAdjacentHTML|\beval\(|new Function/i.test(text) }).toEqual({
      path,
      found: false,
    })
  }
})

test('modules of the pages stay small, and a page draws itself from its own folder and the shared ones', () => {
  for (const [path, text] of OWN) expect({ path, long: text.split('\n').length > 220 }).toEqual({ path, long: false })
  const other = OWN.flatMap(([path, text]) => {
    const room = path.split('/')[0] ?? ''
    const targets = [...text.matchAll(/from\s+'(\.[^']+)'/g)].map(([, name = '']) =>
      normalize(join(dirname(path), name)),
    )
    return targets
      .filter((target) => ![room, 'lib', 'part'].includes(target.split('/')[0] ?? ''))
      .map((to) => `${path} → ${to}`)
  })
  expect(other).toEqual([])
})
