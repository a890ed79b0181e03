import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { Glob } from 'bun'

const ROOT = join(import.meta.dir, '../..')
/** Rooms that may import from every room. */
const TOP = ['main', 'node', 'program', 'service', 'command']

/**
 * Which other rooms a room of `src` may import from. A room that is not listed may import from none. Inside a room, too,
 * folders import each other in one direction, types included; a folder's `mod.ts` stands above the folder and what it holds.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  config: ['account', 'chain', 'db', 'family', 'finance', 'http', 'lib'],
  receipt: ['account', 'chain', 'config', 'db', 'family', 'finance', 'http', 'lib', 'package.json', 'portfolio', 'sql'],
  mcp: ['http', 'family', 'account', 'lib', 'package.json'],
  trigger: ['family', 'chain', 'db', 'http', 'lib', 'sql'],
  portfolio: ['family', 'finance', 'chain', 'http', 'lib'],
  operator: ['account', 'chain', 'history', 'db', 'http', 'lib', 'sql'],
  account: ['db', 'http', 'lib', 'sql'],
  family: ['history', 'chain', 'db', 'finance', 'http', 'lib', 'sql'],
  history: ['chain', 'db', 'lib', 'sql'],
  http: ['lib'],
  dashboard: ['dist', 'node_modules'],
  db: ['lib', 'sql'],
  chain: ['lib'],
  finance: ['history', 'chain', 'db', 'lib', 'sql'],
  lib: [],
}

/** Modules of `src/chain`, in whichever folder, that hold data or calculate. All others ask endpoints. */
const CHAIN_WITHOUT_ENDPOINTS = [
  ...['chain', 'chains', 'cursor', 'words'],
  ...['bytes', 'curve', 'program_address', 'token'],
]

/** The modules that browsers run. A page and the folders of its parts import each other. */
const PAGES = /^src\/dashboard\/(explore|lib|operator|part|usage)\//

/** Folders of `src/family` that hold what protocols of one kind share. */
const KIND = /^src\/family\/(lending|liquidity)\//

interface Import {
  readonly from: string
  readonly to: string
  /** What is imported at runtime; `*` for all of it, nothing if only types are. */
  readonly names: readonly string[]
}

const STATEMENT = /(?:import|export)\s+(type\s+)?([^'";]*?)\s*from\s*'(\.[^']+)'|import\s*\(?\s*'(\.[^']+)'/g

/** Families that do not exist have to be as folders of `src/family`, and are looked at as if they were. */
const MADE_UP = ['pawnshop', 'bazaar'].map((name) => [`test/contract/family/${name}/`, `src/family/${name}/`] as const)

/** The path of a file as if its family existed. */
function bringHome(file: string): string {
  return MADE_UP.reduce((path, [folder, home]) => path.replace(folder, home), file)
}

function readImports(pattern: string): Import[] {
  return [...new Glob(pattern).scanSync(ROOT)].flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(STATEMENT)].map(([, type, list = '*', target, bare]) => ({
      from: bringHome(file),
      to: bringHome(relative(ROOT, join(ROOT, dirname(file), target ?? bare ?? ''))),
      names: type === undefined ? runtimeNames(list) : [],
    })),
  )
}

const OWN = readImports('src/**/*.{ts,tsx}')
const IMPORTS: readonly Import[] = [...OWN, ...MADE_UP.flatMap(([folder]) => readImports(`${folder}**/*.ts`))]

const IMPORTS_BY_FILE = new Map<string, Import[]>()
for (const each of IMPORTS) IMPORTS_BY_FILE.set(each.from, [...(IMPORTS_BY_FILE.get(each.from) ?? []), each])

const FAMILY_FILES = [...new Set(IMPORTS.map(({ from }) => from))].filter((file) => familyFile(file) !== undefined)

function runtimeNames(list: string): string[] {
  return list
    .replaceAll(/[{}]/g, '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && !name.startsWith('type '))
}

function room(file: string): string {
  const [top = '', next = ''] = file.split('/')
  return top === 'src' ? next.replace(/\.ts$/, '') : top
}

/** The folder of a file; `mod.ts` is above its own, and a part of a protocol may be a file. */
function getFolder(file: string): string {
  return basename(file) === 'mod.ts' || familyFile(file)?.name.includes('/') === false ? file : dirname(file)
}

/** Name of the family's folder and of the file in it, if the file belongs to one family. */
function familyFile(file: string): { readonly family: string; readonly name: string } | undefined {
  const [, family, name] = file.match(/^src\/family\/([^/]+)\/(.+)\.ts$/) ?? []
  return family === undefined || name === undefined || KIND.test(file) ? undefined : { family, name }
}

function violations(refused: (each: Import) => boolean): string[] {
  return IMPORTS.filter(refused).map(({ from, to }) => `${from} → ${to}`)
}

/** Files that several rooms or protocols share, and that only some of them read a chain through. */
const SHARED = /^src\/(finance\/|family\/(lending|liquidity\/(list|position_history|enumerable))\/)/

/** What an import asks of a chain, itself or through shared files: functions, not constants or types. */
function asksChain({ to, names }: Import): boolean {
  if (!names.some((name) => !/^[A-Z][A-Z0-9_]*$/.test(name))) return false
  if (SHARED.test(to)) return IMPORTS.some((each) => each.from === to && asksChain(each))
  return room(to) === 'chain' && !CHAIN_WITHOUT_ENDPOINTS.includes(basename(to, '.ts'))
}

/** Files that `file` imports at runtime, and those that they import, and so on. */
function reached(file: string, seen = new Set<string>()): ReadonlySet<string> {
  for (const { to, names } of IMPORTS_BY_FILE.get(file) ?? []) {
    if (names.length === 0 || seen.has(to)) continue
    seen.add(to)
    reached(to, seen)
  }
  return seen
}

test('every import of src is seen, and leads to a file', () => {
  expect(OWN.length).toBeGreaterThan(500)
  // `bun run page:client` makes the clients, of which pages take types alone.
  const isMade = (to: string) => to.startsWith('dist/client/') || existsSync(join(ROOT, to))
  expect(OWN.filter(({ to }) => !isMade(to))).toEqual([])
  const paths = [...new Glob('src/**/*.{ts,tsx}').scanSync(ROOT)].flatMap((file) => [
    ...readFileSync(join(ROOT, file), 'utf8').matchAll(/(?:from|import)\s*\(?\s*'\.[^']+'/g),
  ])
  expect(OWN.length).toBe(paths.length)
})

test('a room imports only from the rooms that the table allows it', () => {
  expect(
    violations(({ from, to }) => {
      const [source, target] = [room(from), room(to)]
      return !TOP.includes(source) && source !== target && !(MAY_IMPORT[source] ?? []).includes(target)
    }),
  ).toEqual([])
})

test('shared code reads chains only for prices, tokens, events, position histories, series and what stands', () => {
  const asking = [
    ...new Set(IMPORTS.filter((each) => SHARED.test(each.from) && asksChain(each)).map(({ from }) => from)),
  ]
  expect(
    asking.filter(
      (file) =>
        !/^src\/(finance\/(price\/(past\/|pool\/read_)|token\/(read_|balance\/read_)|series\/|currency\/rate|first_blocks\.ts)|family\/(lending\/(read_|series\.ts)|liquidity\/(position_history|enumerable\/(read|position_history|watch|mod\.ts))))/.test(
          file,
        ),
    ),
  ).toEqual([])
  expect(asking.length).toBeGreaterThan(4)
})

test('files never import each other in a circle', () => {
  const files = [...new Set(IMPORTS.map(({ from }) => from))]
  expect(files.filter((file) => reached(file).has(file))).toEqual([])
})

test('folders never import each other in a circle', () => {
  const next = new Map<string, Set<string>>()
  for (const { from, to } of IMPORTS.filter(({ from }) => !PAGES.test(from)))
    next.set(getFolder(from), (next.get(getFolder(from)) ?? new Set()).add(getFolder(to)))
  const reaches = (folder: string, wanted: string, seen = new Set<string>()): boolean =>
    folder === wanted ||
    [...(next.get(folder) ?? [])].some((each) => !seen.has(each) && reaches(each, wanted, seen.add(each)))
  expect(
    violations(
      ({ from, to }) =>
        !PAGES.test(from) && getFolder(from) !== getFolder(to) && reaches(getFolder(to), getFolder(from)),
    ),
  ).toEqual([])
})

test('mathematics of finance reaches only lib', () => {
  const inside = /^src\/finance\/math\//
  expect(violations(({ from, to }) => inside.test(from) && !inside.test(to) && room(to) !== 'lib')).toEqual([])
})

test('a family imports nothing from another family', () => {
  expect(
    violations(({ from, to }) => {
      const [source, target] = [familyFile(from)?.family, familyFile(to)?.family]
      return source !== undefined && target !== undefined && source !== target
    }),
  ).toEqual([])
})

test('a kind imports no protocol, and finance no kind', () => {
  expect(violations(({ from, to }) => KIND.test(from) && familyFile(to) !== undefined)).toEqual([])
  expect(violations(({ from, to }) => room(from) === 'finance' && room(to) === 'family')).toEqual([])
  expect(IMPORTS.filter(({ from }) => KIND.test(from)).length).toBeGreaterThan(50)
})

test('rooms above the families name none of them', () => {
  const above = ['portfolio', 'trigger', 'mcp', 'operator']
  expect(violations(({ from, to }) => above.includes(room(from)) && familyFile(to) !== undefined)).toEqual([])
})

test('a family has one shape: tables, reading, mathematics, presentation, routes, holdings, and events if it has a past', () => {
  const shape = /^((table|read|math|present|routes|event)(\/.*)?|protocol|holdings|exit|watch|snapshot|mod)$/
  const files = ['src/family/*/', ...MADE_UP.map(([folder]) => folder)]
    .flatMap((folder) => [...new Glob(`${folder}**/*.ts`).scanSync(ROOT)])
    .flatMap((path) => familyFile(bringHome(path))?.name ?? [])
  expect(files.length).toBeGreaterThan(50)
  expect(files.filter((name) => !shape.test(name))).toEqual([])
})

test('inside a family only read, holdings, mod and routes reach chain reads, even indirectly', () => {
  const asking = new Set(IMPORTS.filter(asksChain).map(({ from }) => from))
  expect(
    FAMILY_FILES.filter((file) => /^(table|event|math|present)/.test(familyFile(file)?.name ?? '')).flatMap((file) =>
      [file, ...reached(file)].filter((each) => asking.has(each)).map((each) => `${file} → ${each}`),
    ),
  ).toEqual([])
})

test('what proves histories knows of no reads ahead', () => {
  const files = [...new Set(OWN.map(({ from }) => from))].filter((file) => /^src\/history\/(logs|proof)\//.test(file))
  expect(files.length).toBeGreaterThan(8)
  expect(
    files.flatMap((file) => [...reached(file)].filter((to) => /prefetch/.test(to)).map((to) => `${file} → ${to}`)),
  ).toEqual([])
  expect(files.filter((file) => /prefetch|\bahead\b/i.test(readFileSync(join(ROOT, file), 'utf8')))).toEqual([])
})

test('routes of a family read a chain only through its readers', () => {
  expect(
    violations(
      (each) =>
        asksChain(each) &&
        !/^(read|(protocol|holdings|watch|snapshot|mod)$)/.test(familyFile(each.from)?.name ?? 'mod'),
    ),
  ).toEqual([])
})

test('inside a family only routes and mod reach http', () => {
  expect(
    FAMILY_FILES.filter((file) => !/^(routes|mod$)/.test(familyFile(file)?.name ?? 'mod')).flatMap((file) =>
      [...reached(file)].filter((to) => room(to) === 'http').map((to) => `${file} → ${to}`),
    ),
  ).toEqual([])
})

test('math of a family reaches only lib, finance, its kind and calculations of its own', () => {
  const files = FAMILY_FILES.filter((file) => familyFile(file)?.name.startsWith('math'))
  expect(files.length).toBeGreaterThan(4)
  const calculates = (file: string) =>
    ['lib', 'finance'].includes(room(file)) || KIND.test(file) || /^(math|table)/.test(familyFile(file)?.name ?? '')
  expect(
    files.flatMap((file) => [...reached(file)].filter((to) => !calculates(to)).map((to) => `${file} → ${to}`)),
  ).toEqual([])
})

test('present of a family reaches no reader and no database', () => {
  expect(
    FAMILY_FILES.filter((file) => familyFile(file)?.name.startsWith('present')).flatMap((file) =>
      [...reached(file)]
        .filter((to) => ['db', 'sql'].includes(room(to)) || familyFile(to)?.name.startsWith('read') === true)
        .map((to) => `${file} → ${to}`),
    ),
  ).toEqual([])
})
