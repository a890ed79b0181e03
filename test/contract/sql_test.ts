import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { camelCase } from '../../.ci/sql/call.ts'
import { sqlNames, sqlText } from '../../.ci/sql/files.ts'
import { generateAll } from '../../.ci/sql_types.ts'
import { FUNCTIONS, MIGRATIONS } from '../../sql/files.ts'
import { type TestDatabase, testDatabase } from '../support/database.ts'

const ROOT = join(import.meta.dir, '../..')
let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(ROOT, 'src', name), 'utf8') }))

/** True if a file of `src` imports the typed call of a `.sql` file. */
function isImported(name: string, folder: 'functions' | 'queries'): boolean {
  const call = new RegExp(`\\b${camelCase(name)}\\b[^}]*} from '[./]+/sql/${folder}.ts'`)
  return sources.some(({ text }) => call.test(text))
}

test('the migrations are numbered from 1 without a gap', () => {
  expect(MIGRATIONS.map(({ name }) => name)).toEqual([...sqlNames('migrations')])
  expect(MIGRATIONS.map(({ name }) => Number.parseInt(name, 10))).toEqual(MIGRATIONS.map(({ version }) => version))
  expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, index) => index + 1))
  for (const { name } of MIGRATIONS) expect(name).toMatch(/^\d{4}_[a-z0-9_]+$/)
})

test('every file of sql/functions has one function, named like its file', () => {
  expect(FUNCTIONS.map(({ name }) => name).toSorted()).toEqual([...sqlNames('functions')])
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

test('every function is called: by a query, another function, a trigger, or by its generated name in src', () => {
  const sql = [...sqlNames('queries').map((name) => sqlText('queries', name)), ...FUNCTIONS.map(({ text }) => text)]
  const callers = sql.map((text) => text.replace(/^\s*--.*$/gm, '').replace(/^create or replace function/gm, ''))
  for (const { name, text } of FUNCTIONS) {
    if (/^-- lane /m.test(text)) {
      expect([name, isImported(name, 'functions')]).toEqual([name, true])
      continue
    }
    const calls = callers.flatMap((caller) => [...caller.matchAll(new RegExp(`\\b${name}\\(`, 'g'))])
    // Its own definition is one.
    expect([name, calls.length > 1]).toEqual([name, true])
  }
})

test('no query only calls a function, because functions have generated bindings', () => {
  const only = /^select [\w\s,.]*(?:from )?\b(\w+)\([$\d, ]*\)\s*(?:as )?\w*;?$/
  const found = sqlNames('queries').filter((name) => {
    const called = only.exec(
      sqlText('queries', name)
        .replaceAll(/^--.*$/gm, '')
        .trim(),
    )?.[1]
    return FUNCTIONS.some((each) => each.name === called)
  })
  expect(found).toEqual([])
})

test('no migration opens or ends a transaction of its own', () => {
  for (const { text } of MIGRATIONS) expect(text).not.toMatch(/^\s*(begin|commit|rollback)\s*;/im)
})

test('the files generated from sql match its files and PostgreSQL', async () => {
  for (const [path, text] of await generateAll(database.url)) {
    expect([path, readFileSync(path, 'utf8') === text]).toEqual([path, true])
  }
})

test.each(sqlNames('queries'))('%s is one statement that selects named columns', (name) => {
  const code = sqlText('queries', name).replace(/^--.*$/gm, '')
  expect(code.trim().replace(/;$/, '')).not.toContain(';')
  expect(code).not.toMatch(/select\s+\*/i)
  expect(name).toMatch(/^[a-z0-9]+(_[a-z0-9]+)*$/)
})

test.each(sqlNames('queries'))('%s is called by its generated name in src', (name) => {
  expect(isImported(name, 'queries')).toBe(true)
})

test('src imports no .sql file, because queries have generated bindings', () => {
  expect(sources.filter(({ text }) => text.includes(".sql'")).map(({ name }) => name)).toEqual([])
})

test('src never uses features of the driver that fail when a connection drops', () => {
  const calls = sources.flatMap(({ name, text }) =>
    [...text.matchAll(/\bsql\.begin\b|\.reserve\(|\.savepoint\(|\.begin\(/g)].map(([call]) => `${name}: ${call}`),
  )
  expect(calls).toEqual([])
})

test('src reaches the driver in one place only', () => {
  const importers = sources.filter(({ text }) => /from 'postgres'/.test(text)).map(({ name }) => name)
  expect(importers).toEqual(['db/connection/pooled_connection.ts'])
})
