import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type AccountGate, createGate } from '../../../src/account/gate/gate.ts'
import { settleBatch, voidBatch } from '../../../src/account/gate/settle.ts'
import { readRequestLog } from '../../../src/account/request_log.ts'
import { retentionJob } from '../../../src/account/retention.ts'
import { type Database, SqlError } from '../../../src/db/database.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createAccount, readBooks, settlement } from '../../support/account/scene.ts'
import { temporaryDirectory, testDatabase } from '../../support/database.ts'
import { holdLock } from '../../support/held_lock.ts'
import { settle, slowClock } from '../../support/test_clock.ts'

/** One round of the job. */
function tendLog(days: number): Promise<unknown> {
  return retentionJob({ db, log: silentLog, days }).round(new AbortController().signal)
}

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
/** A Monday. */
const MONDAY_MS = Date.UTC(1970, 0, 5)

let url: string
let db: Database
let gate: AccountGate

beforeAll(async () => {
  ;({ url, db } = await testDatabase())
  gate = await createGate({ db, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
}, 60_000)

afterAll(() => gate.close(1_000), 60_000)

function getWeek(agoDays: number): { readonly name: string; readonly from: string; readonly to: string } {
  const ms = Date.now() - agoDays * DAY_MS
  const fromMs = MONDAY_MS + Math.floor((ms - MONDAY_MS) / WEEK_MS) * WEEK_MS
  const [from = '', to = ''] = [fromMs, fromMs + WEEK_MS].map((each) => new Date(each).toISOString())
  return { name: `request_log_${from.slice(0, 10).replaceAll('-', '')}`, from, to }
}

/** As if the service had run so many days ago. */
async function makePartition(agoDays: number): Promise<string> {
  const { name, from, to } = getWeek(agoDays)
  await db.run(
    `create table if not exists ${name} partition of request_log for values from ('${from}') to ('${to}')`,
    [],
  )
  return name
}

async function partitions(): Promise<readonly string[]> {
  const rows = await db.run<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'request_log'::regclass order by 1",
    [],
  )
  return rows.map(({ name }) => name)
}

async function total(organizationId: string): Promise<number> {
  const range = { fromMs: 0, toMs: Date.now() + 60_000 }
  return (await readRequestLog(db, { organizationId, ...range, errors: 'all', page: 1, limit: 1 })).total
}

function ago(days: number): { readonly requestedAtMs: number } {
  return { requestedAtMs: Date.now() - days * DAY_MS }
}

test('partitions are made for this week and the next ones, and what came before them is moved into them', async () => {
  const { caller, organizationId } = await createAccount(db)
  await settleBatch(db, [settlement(caller), settlement(caller, ago(30))])
  await tendLog(0)
  const ahead = [0, -7, -14, -21].map((days) => getWeek(days).name)
  expect(await partitions()).toEqual([...ahead, 'request_log_rest'])
  await tendLog(0)
  expect(await partitions()).toHaveLength(5)
  const rows = await db.run<{ name: string }>(
    `select request_log.tableoid::regclass::text as name from request_log join request_caller c on c.no = caller_no
     where c.organization_id = $1 order by requested_at`,
    [organizationId],
  )
  expect(rows.map(({ name }) => name)).toEqual(['request_log_rest', ahead[0] ?? ''])
  expect(await readBooks(db, organizationId)).toMatchObject({ balance: 998, logged: 2 })
})

test('old rows are dropped by whole weeks, and grants still equal balance, log and dropped rows', async () => {
  const oldest = await makePartition(150)
  const young = await makePartition(80)
  const accounts = await Promise.all([1, 2].map(() => createAccount(db)))
  const daysAgo = [150, 149, 120, 98, 89, 80, 3, 0]
  for (const { caller } of accounts) {
    await settleBatch(
      db,
      daysAgo.map((days, index) => settlement(caller, { ...ago(days), credits: index + 1 })),
    )
    await settleBatch(db, [settlement(caller, { ...ago(150), status: 404, credits: 0 })])
  }
  // Some of it counted into the rollups, some pending.
  await db.run('select request_rollup_fold()', [])
  for (const { caller } of accounts) await settleBatch(db, [settlement(caller, { ...ago(151), credits: 10 })])

  await tendLog(0)
  expect(await total(accounts[0]?.organizationId ?? '')).toBe(10)
  await tendLog(90)
  expect(await partitions()).not.toContain(oldest)
  expect(await partitions()).toContain(young)
  for (const { organizationId } of accounts) {
    const books = await readBooks(db, organizationId)
    expect(books).toMatchObject({ balance: 1_000 - 46, granted: 1_000, charged: 5 + 6 + 7 + 8, logged: 4, dropped: 20 })
    expect(await total(organizationId)).toBe(4)
    const [row] = await db.run<object>('select requests, credits from request_log_dropped where organization_id = $1', [
      organizationId,
    ])
    expect(row).toEqual({ requests: '6', credits: '20' })
  }
  // Nothing is left to do.
  await tendLog(90)
})

test('a void of a dropped row, and one during the drop, cost no caller a credit', async () => {
  const { caller, organizationId } = await createAccount(db)
  for (let round = 0; round < 8; round++) {
    await makePartition(130)
    const old = Array.from({ length: 5 }, () => settlement(caller, { ...ago(130), credits: 2 }))
    await settleBatch(db, old)
    const dropping = tendLog(90).catch((error: unknown) => {
      if (!(error instanceof SqlError)) throw error
    })
    await settle(round)
    await Promise.all([dropping, voidBatch(db, old.slice(0, 3))])
    await tendLog(90)
    await readBooks(db, organizationId)
  }
  expect((await readBooks(db, organizationId)).logged).toBe(0)
})

test('while a reader holds the log, as a dump does, nothing is dropped and no request waits', async () => {
  const name = await makePartition(120)
  const { caller, organizationId } = await createAccount(db)
  await settleBatch(db, [settlement(caller, { ...ago(120), credits: 5 })])
  const lock = await holdLock(url)
  const reading = db.run(`select ${lock.wait}, count(*) from request_log`, [], {
    lane: 'background',
    deadlineMs: 10_000,
  })
  await lock.untilWaiting()
  const dropping = tendLog(90).catch((error: unknown) => error)
  const settled = 50
  for (let count = 0; count < settled; count += 1) await gate.settle(settlement(caller))
  expect(await dropping).toMatchObject({ code: '55P03' })
  expect(await partitions()).toContain(name)
  await readBooks(db, organizationId)
  await lock.release()
  await reading
  await tendLog(90)
  expect(await partitions()).not.toContain(name)
  expect(await readBooks(db, organizationId)).toMatchObject({ dropped: 5, logged: settled })
}, 20_000)

test('a lease that a dead process left is deleted, and one that may still be held stays', async () => {
  await db.run(
    `insert into lease (job, subject, holder, until)
     select 'test', s, 'dead', now() + make_interval(hours => h)
     from unnest(array['old', 'late', 'held'], array[-25, -23, 1]) u (s, h)`,
    [],
  )
  await tendLog(0)
  expect(await db.run("select subject from lease where job = 'test' order by subject", [])).toEqual([
    { subject: 'held' },
    { subject: 'late' },
  ])
})
