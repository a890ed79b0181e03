import { expect, test } from 'bun:test'
import { FUNCTIONS, MIGRATIONS } from '../../../sql/files.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { type Database, SchemaError } from '../../../src/db/database.ts'
import { listPending, migrate } from '../../../src/db/migrate.ts'
import { checkSchema, checkServable, type Migration, type SqlFunction } from '../../../src/db/schema.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { emptyDatabase, testDatabase } from '../../support/database.ts'
import { slowClock } from '../../support/test_clock.ts'

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

/** Versions that the database records, in order. */
async function versions(db: Database): Promise<number[]> {
  const rows = await db.run<{ version: number }>('select version from schema_migration order by version', [])
  return rows.map(({ version }) => version)
}

async function withEmpty(work: (open: () => ReturnType<typeof openDatabase>) => Promise<void>): Promise<void> {
  const empty = await emptyDatabase()
  const opened: ReturnType<typeof openDatabase>[] = []
  try {
    await work(() => {
      const db = openDatabase({ url: empty.url, clock: slowClock, log: silentLog })
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
    expect((await migrate(db)).applied).toEqual([...MIGRATIONS, ...FUNCTIONS].map(({ name }) => name))
    expect(await versions(db)).toEqual(MIGRATIONS.map((migration) => migration.version))
    expect((await migrate(db)).applied).toEqual([])
  }))

test('listPending() names what migrate() would apply, and changes nothing', () =>
  withEmpty(async (open) => {
    const db = open()
    const all = [...MIGRATIONS, ...FUNCTIONS].map(({ name }) => name)
    expect(await listPending(db)).toEqual(all)
    expect(
      await db.run('select count(*)::integer as tables from pg_tables where schemaname = current_schema()', []),
    ).toEqual([{ tables: 0 }])
    const last = MIGRATIONS.slice(0, -1)
    await migrate(db, { migrations: last })
    expect(await listPending(db)).toEqual(all.slice(last.length))
    expect(await versions(db)).toHaveLength(last.length)
    await migrate(db)
    const [changed, ...kept] = FUNCTIONS
    if (changed === undefined) throw new Error('Expected a function')
    const functions = [{ ...changed, text: `-- another text\n${changed.text}` }, ...kept]
    expect(await listPending(db, { migrations: MIGRATIONS, functions })).toEqual([changed.name])
    expect(await listPending(db)).toEqual([])
    await expect(listPending(db, { migrations: last, functions: FUNCTIONS })).rejects.toThrow('run the newer program')
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
    await expect(migrate(db, { migrations: STEPS.slice(0, 1) })).rejects.toThrow('run the newer program')
  }))

test('migrate() refuses a database with a different history', () =>
  withEmpty(async (open) => {
    const db = open()
    await migrate(db, { migrations: STEPS.slice(0, 1) })
    const other = [{ version: 1, name: '0001_other', text: 'select 1' }]
    await expect(migrate(db, { migrations: other })).rejects.toThrow(
      'its migration 1, "0001_shelf", is not "0001_other" as this program\'s',
    )
  }))

test('migrate() refuses a database with more migrations of which one differs, without calling it newer', () =>
  withEmpty(async (open) => {
    const db = open()
    await migrate(db, { migrations: STEPS })
    await db.run('insert into shelf values (2)', [])
    const squashed = [{ version: 1, name: '0001_shelf', text: STEPS.map(({ text }) => text).join(';') }]
    await expect(migrate(db, { migrations: squashed })).rejects.toBeInstanceOf(SchemaError)
    await expect(checkSchema(db, { migrations: squashed })).rejects.toThrow(
      'its migration 1, "0001_shelf", had another text than this program\'s; run the program that applied it, or use an empty database',
    )
    expect(await versions(db)).toEqual([1, 2])
    expect(await db.run('select id from shelf order by id', [])).toEqual([{ id: 1 }, { id: 2 }])
  }))

test('migrate() refuses a database migrated by an edited migration', () =>
  withEmpty(async (open) => {
    const db = open()
    await migrate(db, { migrations: STEPS })
    const edited = STEPS.map((step) => (step.version === 1 ? { ...step, text: `${step.text} select 2;` } : step))
    await expect(migrate(db, { migrations: edited })).rejects.toThrow('"0001_shelf", had another text')
  }))

/** A release with one function, and with as many of the steps as it knows. */
function release(text: string, steps = 1) {
  const functions: readonly SqlFunction[] = [{ name: 'answer', text }]
  return { migrations: STEPS.slice(0, steps), functions }
}

test('migrate() runs a function again when its text changed, even if its signature changed', () =>
  withEmpty(async (open) => {
    const db = open()
    const texts = [
      'create or replace function answer() returns integer language sql as $$ select 1 $$',
      'create or replace function answer() returns integer language sql as $$ select 2 $$',
      'create or replace function answer() returns bigint language sql as $$ select 3::bigint $$',
      'create or replace function answer(p_more integer default 0) returns text language sql as $$ select $1::text $$',
      'create or replace function answer(p_less integer default 5) returns text language sql as $$ select $1::text $$',
    ]
    const answers: unknown[] = []
    for (const text of texts) {
      expect((await migrate(db, release(text))).applied).toContain('answer')
      expect((await migrate(db, release(text))).applied).toEqual([])
      answers.push(...(await db.run("select answer() as answer, 'again' as again", [])))
    }
    expect(answers).toEqual([1, 2, '3', '0', '5'].map((answer) => ({ answer, again: 'again' })))
    expect(await db.run("select count(*)::int4 as n from pg_proc where proname = 'answer'", [])).toEqual([{ n: 1 }])
  }))

test('migrate() leaves a function as it was if its new text fails', () =>
  withEmpty(async (open) => {
    const db = open()
    await migrate(db, release('create or replace function answer() returns integer language sql as $$ select 1 $$'))
    const broken = release('create or replace function answer() returns text language sql as $$ select nothing $$')
    await expect(migrate(db, broken)).rejects.toMatchObject({ code: '42703' })
    expect(await db.run('select answer() as answer', [])).toEqual([{ answer: 1 }])
  }))

test('migrate() keeps the trigger that calls a function while it replaces it', () =>
  withEmpty(async (open) => {
    const db = open()
    const withValue = (value: number) =>
      release(
        `create or replace function answer() returns trigger language plpgsql as $$ begin new.id := ${value}; return new; end $$;
         create or replace trigger answers before insert on shelf for each row execute function answer();`,
      )
    for (const value of [7, 8]) {
      await migrate(db, withValue(value))
      await db.run('insert into shelf values (0)', [])
    }
    expect(await db.run('select id from shelf order by id', [])).toEqual([{ id: 1 }, { id: 7 }, { id: 8 }])
  }))

test('migrate() of an older program does not put back a function that a newer one replaced', () =>
  withEmpty(async (open) => {
    const db = open()
    const [older, newer] = [1, 2].map((value) =>
      release(`create or replace function answer() returns integer language sql as $$ select ${value} $$`),
    )
    await migrate(db, older)
    await migrate(db, newer)
    await expect(migrate(db, older)).rejects.toThrow('its function "answer" is newer than this program\'s')
    expect(await db.run('select answer() as answer', [])).toEqual([{ answer: 2 }])
  }))

test('checkSchema() refuses a database whose functions are of another release, older or newer', async () => {
  const { db, close } = await testDatabase()
  await checkSchema(db)
  const [first] = FUNCTIONS
  if (first === undefined) throw new Error('No function')
  await migrate(db, { migrations: MIGRATIONS, functions: [{ ...first, text: `${first.text}-- newer` }] })
  await expect(checkSchema(db)).rejects.toThrow(`its function "${first.name}" is newer than this program's`)
  await db.run('delete from schema_function where name = $1 and replaced_at is not null', [first.name])
  await expect(checkSchema(db)).rejects.toThrow(`its function "${first.name}" is not this program's; run "walletscope`)
  await close()
})

test('checkServable() accepts the tables of a newer release if each migration is marked compatible', () =>
  withEmpty(async (open) => {
    const db = open()
    const next = (version: number, text: string) => ({ version, name: `000${version}_more`, text })
    const expanded = next(3, '-- Adds only.\n-- runs with: 2\ncreate table more ()')
    await migrate(db, { migrations: STEPS })
    expect(await checkServable(db, { migrations: STEPS })).toBe('own')
    await migrate(db, { migrations: [...STEPS, expanded] })
    expect(await checkServable(db, { migrations: STEPS })).toBe('newer')
    await expect(checkSchema(db, { migrations: STEPS })).rejects.toBeInstanceOf(SchemaError)
    await expect(checkServable(db, { migrations: STEPS.slice(0, 1) })).rejects.toThrow('run the newer program')
    await migrate(db, { migrations: [...STEPS, expanded, next(4, 'drop table more')] })
    await expect(checkServable(db, { migrations: STEPS })).rejects.toThrow(
      'this program knows 2; run the newer program',
    )
  }))

test('checkServable() accepts a function whose text was replaced, unless its parameters or its result changed', () =>
  withEmpty(async (open) => {
    const db = open()
    const old = release('create or replace function answer() returns integer language sql as $$ select 1 $$')
    await migrate(db, old)
    // As it was before signatures were recorded.
    await db.run('update schema_function set signature = null', [])
    await migrate(db, release('create or replace function answer() returns integer language sql as $$ select 2 $$'))
    expect(await checkServable(db, old)).toBe('newer')
    await migrate(
      db,
      release('create or replace function answer(n integer) returns integer language sql as $$ select n $$'),
    )
    await expect(checkServable(db, old)).rejects.toThrow('its function "answer" is newer')
  }))

test('migrate() adds new columns of its records to a database that was migrated before', () =>
  withEmpty(async (open) => {
    const db = open()
    await migrate(db, { migrations: STEPS.slice(0, 1) })
    await db.run('alter table schema_migration drop column runs_with', [])
    await db.run('alter table schema_function drop column signature', [])
    expect(await checkServable(db, { migrations: STEPS.slice(0, 1) })).toBe('own')
    expect((await migrate(db, { migrations: STEPS })).applied).toEqual(['0002_label'])
    expect(await checkServable(db, { migrations: STEPS })).toBe('own')
  }))

test('migrate() applies each function once when several processes start together', () =>
  withEmpty(async (open) => {
    const text = 'create or replace function answer() returns integer language sql as $$ select 1 $$'
    const results = await Promise.all([open(), open(), open(), open()].map((db) => migrate(db, release(text, 2))))
    expect(results.flatMap((result) => result.applied).toSorted()).toEqual(['0001_shelf', '0002_label', 'answer'])
  }))

test('testDatabase() gives each caller a migrated database of its own', async () => {
  const [one, two] = await Promise.all([testDatabase(), testDatabase()])
  await one.db.run('create table only_here ()', [])
  expect(await versions(two.db)).toEqual(MIGRATIONS.map((migration) => migration.version))
  expect(await two.db.run("select to_regclass('only_here') is null as absent", [])).toEqual([{ absent: true }])
  await Promise.all([one.close(), two.close()])
})

test('a server before PostgreSQL 15 is named and left alone', () =>
  withEmpty(async (open) => {
    const db = open()
    const old: Database = {
      ...db,
      async run<Row extends object>(...asked: Parameters<Database['run']>) {
        const rows = await db.run<Row>(...asked)
        return rows.map((row) => ('version_no' in row ? { ...row, version: '14.23', version_no: 140_023 } : row))
      },
    }
    const words = 'Cannot use the database: it is PostgreSQL 14.23, expected 15 or later'
    for (const work of [migrate, checkSchema, checkServable]) {
      await expect(work(old)).rejects.toThrow(new SchemaError(words))
    }
    expect(await db.run("select from pg_class where relnamespace = 'public'::regnamespace", [])).toEqual([])
    // The response of PostgreSQL 13 to a client that connects.
    const refusal = 'unrecognized configuration parameter "client_connection_check_interval"'
    const refused = db.run(`do $$ begin raise exception '${refusal}' using errcode = '42704'; end $$`, [])
    await expect(refused).rejects.toThrow(
      new SchemaError('Cannot use the database: it is older than PostgreSQL 14, expected 15 or later'),
    )
  }))

test.each([
  ['LATIN1', false],
  ['SQL_ASCII', true],
])('migrate() begins nothing in a database that cannot store every text (%s)', (encoding, isTaken) =>
  withEmpty(async (open) => {
    const real = open()
    // The server inside cannot convert from such a database, and fails before it says its encoding.
    const db: Database = {
      ...real,
      async run<Row extends object>(...[text, ...rest]: Parameters<Database['run']>) {
        const rows = await real.run<Row>(text, ...rest)
        return text.includes('server_encoding') ? rows.map((row) => ({ ...row, encoding })) : rows
      },
    }
    if (isTaken) {
      expect((await migrate(db, { migrations: STEPS })).applied).toHaveLength(2)
      return
    }
    await expect(migrate(db)).rejects.toThrow(`its encoding ${encoding} cannot store every text; create one with`)
    expect(await real.run("select from pg_class where relname = 'schema_migration'", [])).toEqual([])
  }),
)
