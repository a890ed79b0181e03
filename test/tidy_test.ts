import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Glob } from 'bun'

const ROOT = join(import.meta.dir, '..')

function files(pattern: string): { readonly path: string; readonly text: string }[] {
  return [...new Glob(pattern).scanSync(ROOT)]
    .sort()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

const SOURCE = files('src/**/*.ts')

/** Places where `pattern` stands in the code of `SOURCE`, comments left out, except in the files that may. */
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
  // The watchdog's script is text for a process of its own.
  expect(uses(/\bprocess\.env\b/, /^src\/(main|node|db\/embedded\/watchdog)\.ts$/)).toEqual([])
  expect(uses(/\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/, /^src\/lib\/(clock|log)\.ts$/)).toEqual([])
  expect(uses(/\bMath\.random\(/, /^$/)).toEqual([])
  expect(uses(/\bconsole\./, /^$/)).toEqual([])
  expect(uses(/\bprocess\.exit\(/, /^src\/(main|node|db\/embedded\/watchdog)\.ts$/)).toEqual([])
})

test('transactions of the driver, which may commit what must roll back, are never used', () => {
  expect(uses(/\.begin\(|\.reserve\(|\bsql\.end\(\)/, /^$/)).toEqual([])
})

test('code files stay small; tables of data may be long', () => {
  const table = /lens_artifact\.ts$|\/table\//
  expect(
    SOURCE.filter(({ path, text }) => !table.test(path) && text.split('\n').length > 300).map(({ path }) => path),
  ).toEqual([])
})

test('every exported function and class says what it is', () => {
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

test('nothing is left half-done', () => {
  const words = new RegExp(
    ['TO' + 'DO', 'FIX' + 'ME', 'X' + 'XX', String.raw`\b(test|it|describe)\.(skip|only|todo)\b`].join('|'),
  )
  expect([...SOURCE, ...files('test/**/*.ts')].filter(({ text }) => words.test(text)).map(({ path }) => path)).toEqual(
    [],
  )
})
