import { afterAll, beforeAll, expect, test } from 'bun:test'
import { MIGRATIONS } from '../../../../sql/files.ts'
import { createGate } from '../../../../src/account/gate/gate.ts'
import { readConfig } from '../../../../src/config/config.ts'
import { BackupError } from '../../../../src/db/backup/format.ts'
import { checkBackup } from '../../../../src/db/backup/read.ts'
import { checkTarget } from '../../../../src/db/backup/restore.ts'
import { type Database, SchemaError } from '../../../../src/db/database.ts'
import { migrate } from '../../../../src/db/migrate.ts'
import { checkSchema } from '../../../../src/db/schema.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createServices } from '../../../../src/service/mod.ts'
import { createLifecycle } from '../../../../src/service/process/lifecycle.ts'
import { admitKey, createAccount, settlement } from '../../../support/account/scene.ts'
import { type TestDatabase, temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { createBackup, readContent, restoreInto, streamBytes, withEmpty } from './scene.ts'

let database: TestDatabase
let whole: Buffer
let key: string
let content: Awaited<ReturnType<typeof readContent>>

beforeAll(async () => {
  database = await testDatabase()
  const { caller, ...account } = await createAccount(database.db)
  key = account.key
  const gate = await createGate({
    db: database.db,
    clock: systemClock,
    log: silentLog,
    journalDir: temporaryDirectory(),
  })
  await Promise.all(Array.from({ length: 50 }, () => gate.settle(settlement(caller))))
  await gate.close(1_000)
  whole = await createBackup(database.url)
  content = await readContent(database.db)
}, 60_000)
afterAll(() => database.close(), 60_000)

const LATER = { version: MIGRATIONS.length + 1, name: '0099_later', text: 'create table later ()' }

async function readHeader(bytes: Uint8Array) {
  return (await checkBackup(streamBytes(bytes))).header
}

/** Ends the connection of the restore that runs into this database, as a crash of either side does. */
async function cutOff(db: Database): Promise<void> {
  await db.run(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'walletscope restore' and datname = current_database()`,
    [],
  )
}

test('what waits to be counted is counted after a restore, though a service ran on the empty database', async () => {
  await withEmpty(async (target) => {
    await migrate(target.db)
    const floor = `insert into request_rollup_floor (xid) values (pg_snapshot_xmin(pg_current_snapshot()))
      on conflict (id) do update set xid = excluded.xid`
    await target.db.run(floor, [])
    await restoreInto(target.url, whole)
    const rows = await target.db.run('select 1 from request_rollup_floor', [])
    expect(rows).toHaveLength(0)
  })
})

test('a restore into a database with rows is refused and changes nothing', async () => {
  const other = await testDatabase()
  await createAccount(other.db)
  const before = await readContent(other.db)
  await expect(checkTarget(other.db, { header: await readHeader(whole), migrations: MIGRATIONS })).rejects.toThrow(
    'expected an empty database, and its table "organization" has rows',
  )
  await expect(restoreInto(other.url, whole)).rejects.toThrow('expected an empty database')
  expect(await readContent(other.db)).toEqual(before)
  // It goes on serving.
  await checkSchema(other.db)
  await other.close()
})

test('a restore into a database whose tables are there and empty fills them', async () => {
  const other = await testDatabase()
  await checkTarget(other.db, { header: await readHeader(whole), migrations: MIGRATIONS })
  await restoreInto(other.url, whole)
  expect(await readContent(other.db)).toEqual(content)
  await other.close()
})

test('a backup of a newer version is refused before anything is done', () =>
  withEmpty(async (source) => {
    const migrations = [...MIGRATIONS, LATER]
    await migrate(source.db, { migrations })
    const bytes = await createBackup(source.url, { migrations })
    await withEmpty(async (target) => {
      await expect(restoreInto(target.url, bytes)).rejects.toThrow('run the newer program')
      expect(await target.db.run('select from pg_tables where schemaname = current_schema()', [])).toEqual([])
    })
  }))

test('a backup of other tables than this program has ever had is refused', () =>
  withEmpty(async (target) => {
    const edited = MIGRATIONS.map((each) => ({ ...each, text: `${each.text} -- edited` }))
    // Fewer of other tables do not make an older version.
    for (const migrations of [edited, edited.slice(0, 3)]) {
      const refused = new BackupError('Cannot restore the backup: its tables match no version of this program')
      await expect(restoreInto(target.url, whole, { migrations })).rejects.toThrow(refused)
    }
  }))

test('a backup older than the existing empty tables is refused, with the remedy', () =>
  withEmpty(async (target) => {
    const migrations = [...MIGRATIONS, LATER]
    await migrate(target.db, { migrations })
    await expect(checkTarget(target.db, { header: await readHeader(whole), migrations })).rejects.toThrow(
      'restore into a database without tables',
    )
  }))

test.each([
  ['the connection is lost', cutOff],
  ['it is asked to stop', async (_: Database, stop: AbortController) => stop.abort(new Error('Asked to stop'))],
] as const)(
  'when %s in the middle of a restore nothing of it remains, no process serves, and it can start over',
  (_, fault) =>
    withEmpty(async (target) => {
      const stop = new AbortController()
      let parts = 0
      const failure = await restoreInto(target.url, whole, {
        stop: stop.signal,
        through: async (part) => {
          parts++
          // By now the organizations are loaded and the log is not.
          if (part.kind === 'rows' && part.table === 'request_log') {
            await expect(checkSchema(target.db)).rejects.toThrow('a restore into it is running or did not finish')
            await fault(target.db, stop)
          }
          return part
        },
      }).catch((error) => error)
      expect(failure).toBeInstanceOf(Error)
      expect(parts).toBeGreaterThan(3)
      expect(await target.db.run(`select to_regclass('organization') is null as absent`, [])).toEqual([
        { absent: true },
      ])
      await expect(migrate(target.db)).rejects.toBeInstanceOf(SchemaError)
      const config = readConfig({ DATABASE_URL: target.url, DATA_DIR: temporaryDirectory(), CHAINS: '1' }, () => '')
      const life = createLifecycle({ clock: systemClock, log: silentLog })
      await expect(createServices(config, { clock: systemClock, log: silentLog, lifecycle: life })).rejects.toThrow(
        'did not finish',
      )
      await life.stop()

      await checkTarget(target.db, { header: await readHeader(whole), migrations: MIGRATIONS })
      await restoreInto(target.url, whole)
      await checkSchema(target.db)
      expect(await readContent(target.db)).toEqual(content)
    }),
)

test('of two restores into one database at once, one succeeds and the other changes nothing', () =>
  withEmpty(async (target) => {
    const outcomes = await Promise.allSettled([restoreInto(target.url, whole), restoreInto(target.url, whole)])
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    expect(await readContent(target.db)).toEqual(content)
    await checkSchema(target.db)
  }))

test('a running service accepts no key before the restore is complete, and every key afterwards', async () => {
  const other = await testDatabase()
  const gate = await createGate({ db: other.db, clock: systemClock, log: silentLog, journalDir: temporaryDirectory() })
  const kinds: string[] = []
  const admit = async () => kinds.push((await admitKey(gate, { key, endpoint: null })).kind)
  await restoreInto(other.url, whole, {
    through: async (part) => {
      await admit()
      return part
    },
  })
  expect(new Set(kinds)).toEqual(new Set(['unknown_key']))
  await admit()
  expect(kinds.at(-1)).toBe('admitted')
  await gate.close(1_000)
  await other.close()
})
