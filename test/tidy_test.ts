import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Glob } from 'bun'

const ROOT = join(import.meta.dir, '..')

function files(pattern: string): { readonly path: string; readonly text: string }[] {
  return [...new Glob(pattern).scanSync(ROOT)]
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

const SOURCE = files('src/**/*.ts')

/** Lines of code in `SOURCE` that match `pattern`, without comments and without the `allowed` files. */
function uses(pattern: RegExp, allowed: RegExp): string[] {
  return SOURCE.filter(({ path }) => !allowed.test(path)).flatMap(({ path, text }) =>
    text
      .split('\n')
      .map((line, index) => ({ line: line.replace(/^\s*(\*|\/\*|\/\/).*$/, ''), at: `${path}:${index + 1}` }))
      .filter(({ line }) => pattern.test(line))
      .map(({ at }) => at),
  )
}

test('only the edges read the environment, the clock and chance', () => {
  // The watchdog is the script of another process.
  expect(uses(/\bprocess\.env\b/, /^src\/(main|node|db\/embedded\/watchdog)\.ts$/)).toEqual([])
  expect(uses(/\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/, /^src\/lib\/(clock|log)\.ts$/)).toEqual([])
  expect(uses(/\bMath\.random\(/, /^$/)).toEqual([])
  expect(uses(/\bconsole\./, /^$/)).toEqual([])
  expect(uses(/\bprocess\.exit\(/, /^src\/(main|node|db\/embedded\/watchdog)\.ts$/)).toEqual([])
})

test('limits of time are made where Node, which refuses parts of a millisecond, is thought of', () => {
  expect(uses(/\bAbortSignal\.timeout\(/, /^src\/lib\/async\/abort\.ts$/)).toEqual([])
})

test('the transactions of the driver, which may commit what must roll back, are not used', () => {
  expect(uses(/\.begin\(|\.reserve\(|\bsql\.end\(\)/, /^$/)).toEqual([])
})

test('code files stay small; tables of data may be long', () => {
  const table = /lens_artifact\.ts$|\.d\.ts$|\/table\//
  expect(
    SOURCE.filter(({ path, text }) => !table.test(path) && text.split('\n').length > 300).map(({ path }) => path),
  ).toEqual([])
})

test('a folder of src has at most fourteen entries, and src itself its rooms, src/family its families', () => {
  const folders = new Set(files('src/**/*').map(({ path }) => dirname(path)))
  const most = (folder: string) => (folder === 'src' || folder === 'src/family' ? 18 : 14)
  expect([...folders].filter((folder) => readdirSync(join(ROOT, folder)).length > most(folder))).toEqual([])
})

test('every exported function and class has a docstring', () => {
  const silent = SOURCE.flatMap(({ path, text }) => {
    const lines = text.split('\n')
    return lines
      .map((line, index) => ({ line, index }))
      .filter(({ line }) => /^export (async )?function|^export (abstract )?class/.test(line))
      .filter(({ index }) => !/\*\/\s*$/.test(lines[index - 1] ?? ''))
      .map(({ index }) => `${path}:${index + 1}`)
  })
  expect(silent).toEqual([])
})

test('names of files are snake_case', () => {
  const names = [...SOURCE, ...files('test/**/*.ts'), ...files('sql/**/*.sql')].map(({ path }) => path)
  expect(names.filter((path) => !/^[a-z0-9_/.]+$/.test(path))).toEqual([])
})

const OF_EACH_FAMILY = 'families have the same parts, and none sees those of another'

/** Types that several files export, and why one name is right. */
const SHARED_NAMES: Readonly<Record<string, string>> = {
  Accounts: OF_EACH_FAMILY,
  Asset: OF_EACH_FAMILY,
  BriefPosition: OF_EACH_FAMILY,
  BrokenPart: OF_EACH_FAMILY,
  ChainRead: OF_EACH_FAMILY,
  FigureInput: OF_EACH_FAMILY,
  AccountCache: OF_EACH_FAMILY,
  ListedPosition: OF_EACH_FAMILY,
  Position: OF_EACH_FAMILY,
  PositionReader: OF_EACH_FAMILY,
  RawMarket: OF_EACH_FAMILY,
  RawRead: OF_EACH_FAMILY,
  Reserve: OF_EACH_FAMILY,
  WalletQuery: OF_EACH_FAMILY,
}

test('a type that src exports has a name of its own', () => {
  const exported = /^export (?:declare )?(?:type|interface|(?:abstract )?class) (\w+)/gm
  const homes = new Map<string, string[]>()
  // Pages name what answers hold, and import nothing of ours.
  for (const { path, text } of SOURCE.filter((file) => !file.path.startsWith('src/dashboard/'))) {
    for (const [, name = ''] of text.matchAll(exported)) homes.set(name, [...(homes.get(name) ?? []), path])
  }
  const shared = [...homes].filter(([, paths]) => paths.length > 1)
  expect(shared.filter(([name]) => !(name in SHARED_NAMES))).toEqual([])
  expect(shared.map(([name]) => name).sort()).toEqual(Object.keys(SHARED_NAMES))
  const familyOf = (path: string) => path.match(/^src\/family\/(\w+)\//)?.[1]
  const amiss = shared.filter(([, paths]) => {
    const families = paths.map(familyOf)
    return families.includes(undefined) || new Set(families).size < families.length
  })
  expect(amiss).toEqual([])
})

test('nothing is left half-done', () => {
  const words = new RegExp(
    ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', String.raw`\b(test|it|describe)\.(skip|only|todo)\b`].join('|'),
  )
  expect([...SOURCE, ...files('test/**/*.ts')].filter(({ text }) => words.test(text)).map(({ path }) => path)).toEqual(
    [],
  )
})

test('pages say what they are given, which is never just anything', () => {
  const untyped = files('src/dashboard/**/*.js').flatMap(({ path, text }) =>
    [...text.matchAll(/@(?:type|param|property|typedef|template|returns)[^\n]*\bany\b/g)].map(
      ([line]) => `${path}: ${line}`,
    ),
  )
  expect(untyped).toEqual([])
})
