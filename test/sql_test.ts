import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateTypes, queryFiles, queryText, TYPES_FILE } from '../.ci/sql_types.ts'
import { FUNCTIONS } from '../src/db/functions.ts'
import { MIGRATIONS } from '../src/db/migrations.ts'
import { type TestDatabase, testDatabase } from './support/database.ts'

const ROOT = join(import.meta.dir, '..')
let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(ROOT, 'src', name), 'utf8') }))

test('the embedded migrations are the files of sql/migrations, numbered from 1 without a gap', () => {
  const files = readdirSync(join(ROOT, 'sql', 'migrations')).toSorted()
  expect(MIGRATIONS.map(({ name, text }) => ({ name: `${name}.sql`, text }))).toEqual(
    files.map((name) => ({ name, text: readFileSync(join(ROOT, 'sql', 'migrations', name), 'utf8') })),
  )
  expect(files.map((name) => Number.parseInt(name, 10))).toEqual(files.map((_, index) => index + 1))
  for (const name of files) expect(name).toMatch(/^\d{4}_[a-z0-9_]+\.sql$/)
})

test('the embedded functions are the files of sql/functions, one function each, named like its file', () => {
  const files = readdirSync(join(ROOT, 'sql', 'functions')).toSorted()
  expect(FUNCTIONS.map(({ name, text }) => ({ name: `${name}.sql`, text })).toSorted(byName)).toEqual(
    files.map((name) => ({ name, text: readFileSync(join(ROOT, 'sql', 'functions', name), 'utf8') })),
  )
  for (const { name, text } of FUNCTIONS) {
    expect([...text.matchAll(/^create (?:or replace )?function (\w+)\(/gm)].map(([line]) => line)).toEqual([
      `create or replace function ${name}(`,
    ])
    expect(text).toStartWith('-- ')
  }
})

test('migrations hold tables only: functions and triggers live in sql/functions', () => {
  for (const { text } of MIGRATIONS) {
    expect(text.replace(/^\s*--.*$/gm, '')).not.toMatch(/\b(function|procedure|trigger)\b/i)
  }
})

test('every function is called by a query, another function or a trigger', () => {
  const callers = [...queryFiles().map(queryText), ...FUNCTIONS.map(({ text }) => text)].map((text) =>
    text.replace(/^\s*--.*$/gm, '').replace(/^create or replace function/gm, ''),
  )
  for (const { name } of FUNCTIONS) {
    const calls = callers.flatMap((text) => [...text.matchAll(new RegExp(`\\b${name}\\(`, 'g'))])
    // Its own definition is one.
    expect([name, calls.length > 1]).toEqual([name, true])
  }
})

test('no migration opens or ends a transaction of its own', () => {
  for (const { text } of MIGRATIONS) expect(text).not.toMatch(/^\s*(begin|commit|rollback)\s*;/im)
})

test('sql/queries.d.ts says what PostgreSQL says about every query', async () => {
  expect(await generateTypes(database.url)).toBe(readFileSync(TYPES_FILE, 'utf8'))
})

test.each(queryFiles())('%s is one statement that selects named columns', (name) => {
  const code = queryText(name).replace(/^--.*$/gm, '')
  expect(code.trim().replace(/;$/, '')).not.toContain(';')
  expect(code).not.toMatch(/select\s+\*/i)
  expect(name).toMatch(/^[a-z0-9]+(_[a-z0-9]+)*\.sql$/)
})

test.each(queryFiles())('%s is imported by src, as text', (name) => {
  const imports = sources.filter(({ text }) => text.includes(`sql/queries/${name}'`))
  expect(imports.map((source) => source.name)).not.toEqual([])
  for (const { text } of imports) expect(text).toContain(`sql/queries/${name}' with { type: 'text' }`)
})

test('every .sql file that src imports is imported as text', () => {
  for (const { name, text } of sources) {
    for (const [line] of text.matchAll(/^.*\.sql'.*$/gm)) {
      expect(`${name}: ${line}`).toEndWith("with { type: 'text' }")
    }
  }
})

test('src never calls what the driver does wrongly over a connection that drops', () => {
  const calls = sources.flatMap(({ name, text }) =>
    [...text.matchAll(/\bsql\.begin\b|\.reserve\(|\.savepoint\(|\.begin\(/g)].map(([call]) => `${name}: ${call}`),
  )
  expect(calls).toEqual([])
})

test('src reaches the driver in one place only', () => {
  const importers = sources.filter(({ text }) => /from 'postgres'/.test(text)).map(({ name }) => name)
  expect(importers).toEqual(['db/generation.ts'])
})

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1
}
