import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { examineDatabase } from '../../../src/command/doctor/doctor.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { openSession } from '../../../src/db/connection/session.ts'
import { type Database, SchemaError } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import { checkSchema } from '../../../src/db/schema.ts'
import { createLog } from '../../../src/lib/log.ts'
import { emptyDatabase } from '../../support/database.ts'
import { hasPgBouncer, type PgBouncer, startPgBouncer } from '../../support/pgbouncer.ts'
import { createFixedClock, slowClock } from '../../support/test_clock.ts'

describe.skipIf(!hasPgBouncer())('behind PgBouncer in transaction mode (needs the program "pgbouncer")', () => {
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let pooler: PgBouncer
  const lines: string[] = []
  const opened: Database[] = []
  const open = (url: string): Database => {
    const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() })
    const db = openDatabase({ url, clock: slowClock, log })
    opened.push(db)
    return db
  }

  beforeAll(async () => {
    database = await emptyDatabase()
    pooler = await startPgBouncer(database.url)
  }, 60_000)
  afterAll(async () => {
    await Promise.all(opened.map((db) => db.close()))
    await pooler.close()
    await database.drop()
  }, 60_000)

  test('each of a thousand statements finds its parameters in any server session, and tables are migrated', async () => {
    const db = open(pooler.url)
    const { applied } = await migrate(db)
    expect(applied.length).toBeGreaterThan(10)
    await checkSchema(db)
    const numbers = Array.from({ length: 900 }, (_, index) => index)
    const rows = await Promise.all(
      numbers.map((n) =>
        db.run<{ n: number; zone: string }>(
          `select $1::int4 as n, current_setting('TimeZone') as zone, ${n % 7} as kind`,
          [n],
          { deadlineMs: 10_000 },
        ),
      ),
    )
    expect(rows.map(([row]) => row?.n)).toEqual(numbers)
    expect(new Set(rows.map(([row]) => row?.zone))).toEqual(new Set(['UTC']))
    expect(lines.filter((line) => line.includes('A connection pooler is in use'))).toHaveLength(1)
    expect(lines.filter((line) => line.includes('The database is unreachable'))).toHaveLength(0)
  })

  test('the statements of a session stay on one server session', async () => {
    const session = await openSession({ url: pooler.url, applicationName: 'session test', clock: slowClock })
    await session.run('begin', [])
    await session.run('create table of_session (n integer)', [])
    await session.run('insert into of_session values ($1)', [3])
    await session.run('rollback', [])
    expect(await session.run("select to_regclass('of_session')::text as found", [])).toEqual([{ found: null }])
    await session.close()
  })

  test('doctor lists the settings that no session can set behind the pooler', async () => {
    const findings = await examineDatabase(open(pooler.url), slowClock)
    expect(findings.filter(({ verdict }) => verdict !== 'good').map(({ check }) => check)).toContain(
      'abandoned statements',
    )
  })

  test('a refusal of the pooler is reported in its own words, without an address', async () => {
    const refusing = await startPgBouncer(database.url, { settings: ['max_client_conn = 0'] })
    const error: Error = await open(refusing.url)
      .run('select 1', [])
      .catch((each) => each)
    expect(String(error.cause)).toContain('no more connections allowed')
    await refusing.close()
    const unknown = `${pooler.url}?search_path=other`
    const kept: Error = await open(unknown)
      .run('select 1', [])
      .catch((each) => each)
    expect(String(kept.cause)).toContain('unsupported startup parameter: search_path')
    const named = lines.filter((line) => line.includes('no more connections allowed'))
    expect(named).toHaveLength(1)
    expect(lines.join('')).not.toContain('127.0.0.1')
  })

  test('a default isolation that the pooler fixes is named with its remedy', async () => {
    const db = open(pooler.url)
    const [row] = await db.run<{ name: string }>('select current_database() as name', [])
    await db.run(`alter database ${row?.name} set default_transaction_isolation = 'serializable'`, [])
    // PgBouncer's sessions began before.
    const fresh = await startPgBouncer(database.url)
    const found: unknown = await checkSchema(open(fresh.url)).catch((error) => error)
    await fresh.close()
    expect(found).toBeInstanceOf(SchemaError)
    expect(String(found)).toContain("default_transaction_isolation = 'read committed'")
  })
})
