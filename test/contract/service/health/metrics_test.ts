import { afterAll, beforeAll, expect, test } from 'bun:test'
import { CLI_ACTOR } from '../../../../src/account/audit.ts'
import { grantCredits } from '../../../../src/account/credit.ts'
import { createOrganization } from '../../../../src/account/organization.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import { type Clock, systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import { createDatabaseMetrics, databaseMetricsJob } from '../../../../src/service/health/metrics.ts'
import { startTestServer, type TestDatabase, testDatabase } from '../../../support/database.ts'
import { holdLock } from '../../../support/held_lock.ts'

const DAY_MS = 86_400_000
let database: TestDatabase

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
afterAll(() => database.close(), 60_000)

test('organizations are low on credits if they have less than they spent since yesterday', async () => {
  const { db } = database
  const today = Math.floor(Date.now() / DAY_MS)
  const spending = async (credits: number, spent: number, day: number) => {
    const { id } = await createOrganization(db, { by: CLI_ACTOR, name: `Acme ${credits} ${spent} ${day}` })
    await grantCredits(db, { by: CLI_ACTOR, organizationId: id, credits, reason: 'test' })
    await db.run(
      `with caller as (
         insert into request_caller (organization_no, organization_id, api_key_id)
         values ($1::integer, $2, 'key') returning organization_no
       )
       insert into request_rollup (organization_no, day, caller_no, path_no, status, requests, credits, by_hour)
       select organization_no, $3::integer, 1, 0, 200, 1, $4::bigint, array_fill(0, array[24]) from caller`,
      [1_000 + count++, id, day, spent],
    )
  }
  let count = 0
  await spending(9, 10, today)
  await spending(9, 10, today - 1)
  await spending(9, 10, today - 2)
  await spending(10, 10, today)
  await createOrganization(db, { by: CLI_ACTOR, name: 'Never spent' })
  await db.run(
    "insert into midnight values (1, 20000, 5, '\\x01', '\\x02', 1, false), (1, 20001, 6, '\\x01', '\\x02', 1, false), " +
      "(10, 20000, 5, '\\x01', '\\x02', 1, false)",
    [],
  )

  const metrics = createMetrics()
  const parts = { db, clock: systemClock, log: silentLog, midnightChainIds: new Set([1]) }
  await databaseMetricsJob(metrics, parts).round(new AbortController().signal)
  expect(metrics.render()).toContain('\nwalletscope_organizations_low_on_credits 2\n')
  expect(metrics.render()).toContain(`\nwalletscope_midnight_timestamp_seconds{chain_id="1"} ${20_001 * 86_400}\n`)
  // A chain that is served no more gets no newer midnight, and alerts on a missing one for ever.
  expect(metrics.render()).not.toContain('chain_id="10"')
})

test('the database is down from the first failure to the first success, and waits for a connection are counted', async () => {
  const server = await startTestServer()
  let waitedMs = 0
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + waitedMs }
  const db = openDatabase({ url: server.url, clock, log: silentLog, max: 1 })
  const metrics = createMetrics()
  createDatabaseMetrics(metrics, db)
  const read = (series: string) =>
    Number(
      metrics
        .render()
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1],
    )
  // Opens the connection, which statements wait for, too.
  await db.run('select 1', [])
  const lock = await holdLock(server.url)
  const holding = [db.run(`select ${lock.wait}`, []), db.run('select 1', [])]
  await lock.untilWaiting()
  expect(read('walletscope_database_statements_running{lane="read"}')).toBe(1)
  expect(read('walletscope_database_statements_waiting{lane="read"}')).toBe(1)
  waitedMs += 250
  await lock.release()
  await Promise.all(holding)
  expect(read('walletscope_database_wait_seconds_total{lane="read"}')).toBeGreaterThanOrEqual(0.25)
  expect(read('walletscope_database_wait_seconds_total{lane="gate"}')).toBe(0)
  expect(read('walletscope_database_up')).toBe(1)
  await server.stop()
  await db.run('select 1', []).catch(() => {})
  expect(read('walletscope_database_up')).toBe(0)
  await server.start()
  while (read('walletscope_database_up') === 0) await db.run('select 1', []).catch(() => Bun.sleep(50))
  await db.close()
  await server.close()
}, 60_000)
