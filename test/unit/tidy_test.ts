import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'

const ROOT = join(import.meta.dir, '../..')

function files(pattern: string): { readonly path: string; readonly text: string }[] {
  return [...new Glob(pattern).scanSync(ROOT)]
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

/** The modules that browsers run: they have a clock and a console of their own. */
const PAGES = files('src/dashboard/{explore,lib,operator,part,usage}/**/*.{ts,tsx}')
const SOURCE = files('src/**/*.ts').filter(({ path }) => !PAGES.some((page) => page.path === path))

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

test('only the edges read the environment and chance', () => {
  // The watchdog is the script of another process.
  expect(uses(/\bprocess\.env\b/, /^src\/(program|db\/embedded\/watchdog)\.ts$/)).toEqual([])
  expect(uses(/\bMath\.random\(/, /^$/)).toEqual([])
  expect(uses(/\bconsole\./, /^$/)).toEqual([])
  expect(uses(/\bprocess\.exit\(/, /^src\/(program|db\/embedded\/watchdog)\.ts$/)).toEqual([])
})

test('the clock alone tells the time and makes timers', () => {
  // The wrapper is printed into the clients of callers, which have no clock of ours.
  const allowed = /^src\/(lib\/clock|http\/openapi\/client_wrapper)\.ts$/
  expect(uses(/\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/, allowed)).toEqual([])
  // A socket's own `setTimeout` sets how long its other end may be silent.
  expect(uses(/(?<!\bsocket\.)\bsetTimeout\(|\bsetInterval\(|\bAbortSignal\.timeout\b/, allowed)).toEqual([])
  expect(uses(/\btimers(\/promises)?'|\bBun\.sleep\b/, allowed)).toEqual([])
})

test('what belongs to a piece of work travels in `Work`, not in maps by its signal', () => {
  expect(uses(/\b(Weak)?(Map|Set)<AbortSignal\b/, /^$/)).toEqual([])
})

test('the transactions of the driver, which may commit what must roll back, are not used', () => {
  expect(uses(/\.begin\(|\.reserve\(|\bsql\.end\(\)/, /^$/)).toEqual([])
})

test('code files stay small; tables of data may be long', () => {
  const table = /lens_artifact\.ts$|\.d\.ts$|\/table[/.]|^src\/chain\/chains\.ts$/
  expect(
    SOURCE.filter(({ path, text }) => !table.test(path) && text.split('\n').length > 500).map(({ path }) => path),
  ).toEqual([])
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
  const names = [...SOURCE, ...PAGES, ...files('test/**/*.ts'), ...files('sql/**/*.sql')].map(({ path }) => path)
  expect(names.filter((path) => !/^[a-z0-9_/.]+$/.test(path))).toEqual([])
})

/**
 * Words that readers must not have to guess: a function begins with a verb, and a program is no person. The limits are
 * today's counts; a change that lowers a count lowers its limit.
 */
const WORDS_MAX = { exportedFunctionsEndingInOf: 1, functionsEndingInOf: 3, indefinitePersons: 13 }

test('functions ending in "Of" and indefinite persons do not rise', () => {
  const code = [...SOURCE, ...PAGES]
  const prose = [...code, ...files('src/**/*.{sol,md}'), ...files('README.md')]
  const count = (texts: typeof code, pattern: RegExp) =>
    texts.reduce((sum, { text }) => sum + [...text.matchAll(pattern)].length, 0)
  const counts = {
    exportedFunctionsEndingInOf: count(code, /^export (?:async )?(?:function|const) [a-z]\w*Of\b/gm),
    functionsEndingInOf: count(code, /\b(?:function|const) [a-z]\w*Of\b/g),
    indefinitePersons: count(prose, /\b(?:no|any|some|every)(?:body|one)\b|\bwho(?:m)?ever\b/gi),
  }
  const risen = Object.entries(WORDS_MAX).filter(([word, max]) => counts[word as keyof typeof counts] > max)
  expect(risen.map(([word, max]) => `${word}: ${counts[word as keyof typeof counts]}, at most ${max}`)).toEqual([])
})

test('the map of rooms in the README names every folder of src, and no other', () => {
  const [map = ''] = /^src\/lib .*?^```/ms.exec(readFileSync(join(ROOT, 'README.md'), 'utf8')) ?? []
  const rooms = [...map.matchAll(/^src\/(\w+)/gm)].map(([, room]) => room).sort()
  const folders = readdirSync(join(ROOT, 'src'), { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect(rooms).toEqual(folders.map(({ name }) => name).sort())
})

test('files that comments and guides name exist', () => {
  const paths = ['src', 'sql', 'test', '.ci'].flatMap((room) => [
    ...new Glob(`${room}/**/*.{ts,tsx,js,sql,sol,md}`).scanSync({ cwd: ROOT, dot: true }),
  ])
  // Contracts of protocols are named, too; their sources are not here.
  const theirs = ['Hooks', 'Morpho', 'ValidationLogic'].map((name) => `${name}.sol`)
  const named = [...SOURCE, ...PAGES, ...files('src/**/*.md'), ...files('sql/**/*.sql')].flatMap(({ path, text }) =>
    [...text.matchAll(/`([\w./-]+\.(?:tsx?|js|sql|sol|md))`/g)].map(([, name = '']) => ({ path, name })),
  )
  expect(named.length).toBeGreaterThan(100)
  const isKnown = (name: string) => theirs.includes(name) || paths.some((path) => `/${path}`.endsWith(`/${name}`))
  expect(named.filter(({ name }) => !isKnown(name))).toEqual([])
})

test('nothing is left half-done', () => {
  const words = new RegExp(
    ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', String.raw`\b(test|it|describe)\.(skip|only|todo)\b`].join('|'),
  )
  expect(
    [...SOURCE, ...PAGES, ...files('test/**/*.ts')].filter(({ text }) => words.test(text)).map(({ path }) => path),
  ).toEqual([])
})

test("the guide's list of work in the background has every job, and no other", () => {
  const guide = readFileSync(join(ROOT, 'src/dashboard/guide/operating.md'), 'utf8')
  const [, section = ''] = guide.split('## What runs in the background\n')
  const rows = section.split('\n## ')[0]?.match(/^\| [^|]*/gm) ?? []
  const listed = rows.flatMap((row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
  const job = /\bname: (['`])(\w.*?)\1,\s+(?:everyMs|gatherMs|retryMs|round)\b/g
  const family = /^ {2}work: \{\n {4}feature: '([^']+)'/gm
  const jobs = SOURCE.flatMap(({ path, text }) => [
    ...[...text.matchAll(job)].map(([, , name = '']) => name.replace(/ \$\{.*/, ' 1 latest')),
    ...[...text.matchAll(family)].map(([, feature]) => `${path.split('/')[2]} ${feature}`),
  ])
  expect([...new Set(jobs)].sort()).toEqual(listed.sort())
})

test('few files of tests wait for another process', () => {
  // They run one at a time: a subject that has a file takes the next test, too.
  expect(files('test/system/**/*_test.ts').length).toBeLessThanOrEqual(25)
})
