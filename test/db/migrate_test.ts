import { expect, test } from 'bun:test'
import type { Database } from '../../src/db/database.ts'
import { migrate, SchemaError } from '../../src/db/migrate.ts'
import { MIGRATIONS, type Migration } from '../../src/db/migrations.ts'
import { openDatabase } from '../../src/db/pool.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { emptyDatabase, testDatabase } from '../support/database.ts'

const STEPS: readonly Migration[] = [
  {
    version: 1,
    name: '0001_shelf',
    text: `create table shelf (id integer primary key); -- a comment
      create function shelf_count() returns bigint language sql begin atomic select count(*) from shelf; end;
      insert into shelf values (1);
      select shelf_count();`,
  },
  { version: 2, name: '0002_label', text: 'alter table shelf add column label text; create index on shelf (label)' },
]

/** Versions that the database says it has, in order. */
async function versions(db: Database): Promise<number[]> {
  const rows = await db.run<{ version: number }>('select version from schema_migration order by version', [])
  return rows.map(({ version }) => version)
}

async function withEmpty(work: (open: () => ReturnType<typeof openDatabase>) => Promise<void>): Promise<void> {
  const empty = await emptyDatabase()
  const opened: ReturnType<typeof openDatabase>[] = []
  try {
    await work(() => {
      const db = openDatabase({ url: empty.url, clock: systemClock, log: silentLog })
      opened.push(db)
      return db
    })
  } finally {
    await Promise.all(opened.map((db) => db.close()))
    await empty.drop()
  }
}

test('migrate() brings an empty database to the newest version, and then has nothing to do', () =>
  withEmpty(async (open) => {
    const db = open()
    expect((await migrate(db)).applied).toEqual(MIGRATIONS.map((migration) => migration.name))
    expect(await versions(db)).toEqual(MIGRATIONS.map((migration) => migration.version))
    expect((await migrate(db)).applied).toEqual([])
  }))

test('migrate() applies each migration once when several processes start together', () =>
  withEmpty(async (open) => {
    const results = await Promise.all([open(), open(), open(), open()].map((db) => migrate(db, { migrations: STEPS })))
    expect(results.flatMap((result) => result.applied).toSorted()).toEqual(['0001_shelf', '0002_label'])
    expect(await open().run('select id, label from shelf', [])).toEqual([{ id: 1, label: null }])
  }))

test('migrate() leaves nothing of a migration that fails', () =>
  withEmpty(async (open) => {
    const db = open()
    const broken = { version: 3, name: '0003_broken', text: 'create table halfway (); select 1 / 0' }
    await expect(migrate(db, { migrations: [...STEPS, broken] })).rejects.toMatchObject({ code: '22012' })
    expect(await versions(db)).toEqual([1, 2])
    expect(await db.run("select to_regclass('halfway') is null as absent", [])).toEqual([{ absent: true }])
  }))

test('migrate() refuses a database that a newer program has migrated', () =>
  withEmpty(async (open) => {
    const db = open()
    await migrate(db, { migrations: STEPS })
    await expect(migrate(db, { migrations: STEPS.slice(0, 1) })).rejects.toBeInstanceOf(SchemaError)
  }))

test('migrate() refuses a database whose history is another one', () =>
  withEmpty(async (open) => {
    const db = open()
    await migrate(db, { migrations: STEPS.slice(0, 1) })
    const other = [{ version: 1, name: '0001_other', text: 'select 1' }]
    await expect(migrate(db, { migrations: other })).rejects.toThrow('this program\'s is "0001_other"')
  }))

test('migrate() refuses a database that an edited migration has made', () =>
  withEmpty(async (open) => {
    const db = open()
    await migrate(db, { migrations: STEPS })
    const edited = STEPS.map((step) => (step.version === 1 ? { ...step, text: `${step.text} select 2;` } : step))
    await expect(migrate(db, { migrations: edited })).rejects.toThrow('"0001_shelf" had another text')
  }))

test('testDatabase() gives each caller a migrated database of its own', async () => {
  const [one, two] = await Promise.all([testDatabase(), testDatabase()])
  await one.db.run('create table only_here ()', [])
  expect(await versions(two.db)).toEqual(MIGRATIONS.map((migration) => migration.version))
  expect(await two.db.run("select to_regclass('only_here') is null as absent", [])).toEqual([{ absent: true }])
  await Promise.all([one.close(), two.close()])
})
