import { afterAll, beforeAll, expect, test } from 'bun:test'
import { BACKUP_TABLES, getTableNames, REPLACED_TABLES, readTables } from '../../../../src/db/backup/tables.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'

/**
 * Tables that a backup leaves out: `migrate` writes the first two, the windows are primed from the log, the next two
 * number changes and transactions of one database, which mean nothing in another, a session that has ended must not come
 * back, and no process has work in a database that is restored.
 */
const LEFT_OUT: readonly string[] = [
  ...['schema_migration', 'schema_function'],
  ...['rate_window', 'rate_window_state'],
  ...['account_change', 'request_rollup_floor'],
  ...['login_link', 'session', 'lease'],
  // Stand for those that inherit them.
  ...['history_row', 'midnight_row'],
]

let database: TestDatabase
let backedUp: readonly string[]

beforeAll(async () => {
  database = await testDatabase()
  backedUp = getTableNames(await readTables(database.db, BACKUP_TABLES))
}, 60_000)
afterAll(() => database.close(), 60_000)

test('every table that the migrations make is backed up, or is left out on purpose', async () => {
  const rows = await database.db.run<{ name: string; unlogged: boolean }>(
    `select relname::text as name, relpersistence = 'u' as unlogged from pg_class
     where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'm', 'f') and not relispartition`,
    [],
  )
  expect(rows.map(({ name }) => name).toSorted()).toEqual([...backedUp, ...LEFT_OUT].toSorted())
  // Unlogged tables, which a crash empties anyway, are left out; logged ones must be kept.
  expect(rows.filter(({ unlogged }) => unlogged).filter(({ name }) => backedUp.includes(name))).toEqual([])
})

test('each table comes after those that it refers to', async () => {
  const references = await database.db.run<{ child: string; parent: string }>(
    `select conrelid::regclass::text as child, confrelid::regclass::text as parent from pg_constraint
     where contype = 'f' and conparentid = 0 and connamespace = current_schema()::regnamespace`,
    [],
  )
  expect(references.length).toBeGreaterThan(0)
  const late = references
    .filter(({ child }) => backedUp.includes(child))
    .filter(({ child, parent }) => backedUp.indexOf(child) <= backedUp.indexOf(parent))
  expect(late).toEqual([])
})

test('a backed-up table is empty after the migrations, or the backup replaces its row', async () => {
  const empty = backedUp.filter((name) => !REPLACED_TABLES.includes(name))
  for (const { name } of await readTables(database.db, empty)) {
    expect({ name, rows: await database.db.run(`select from "${name}" limit 1`, []) }).toEqual({ name, rows: [] })
  }
})

test('every sequence that the migrations make belongs to a column that is backed up', async () => {
  const made = await database.db.run<{ name: string }>(
    `select oid::regclass::text as name from pg_class
     where relnamespace = current_schema()::regnamespace and relkind = 'S'`,
    [],
  )
  const kept = (await readTables(database.db, backedUp)).flatMap(({ columns }) =>
    columns.flatMap(({ sequence }) => sequence ?? []),
  )
  expect(made.map(({ name }) => name).filter((name) => !kept.some((each) => each.endsWith(name)))).toEqual([])
})
