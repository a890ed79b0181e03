import { afterAll, beforeAll, expect, test } from 'bun:test'
import { admitBatch } from '../../../../src/account/gate/admit.ts'
import { createGate } from '../../../../src/account/gate/gate.ts'
import { createKeyCache } from '../../../../src/account/gate/key_cache.ts'
import { settleBatch, voidBatch } from '../../../../src/account/gate/settle.ts'
import { hashKey } from '../../../../src/account/key.ts'
import { readRequestLog } from '../../../../src/account/request_log.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createAccount, readBooks, settlement } from '../../../support/account/scene.ts'
import { type TestDatabase, temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { holdLock } from '../../../support/held_lock.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

let database: TestDatabase
let db: Database

beforeAll(async () => {
  database = await testDatabase()
  db = database.db
}, 60_000)

afterAll(() => database.close(), 60_000)

function fold(): Promise<unknown> {
  return db.run('select request_rollup_fold()', [], { lane: 'background' })
}

async function total(organizationId: string): Promise<number> {
  const range = { fromMs: Date.now() - 86_400_000, toMs: Date.now() + 60_000 }
  const page = await readRequestLog(db, { organizationId, ...range, errors: 'all', page: 1, limit: 1 })
  return page.total
}

async function count(table: string): Promise<number> {
  const [row] = await db.run<{ n: number }>(`select count(*)::int4 as n from ${table}`, [])
  return row?.n ?? 0
}

test('totals and books are exact before, while and after new rows are added to the rollups', async () => {
  const { caller, organizationId } = await createAccount(db)
  const settled: ReturnType<typeof settlement>[] = []
  let stop = false
  const folding = (async () => {
    while (!stop) await fold()
  })()
  for (let round = 1; round <= 40; round++) {
    const batch = Array.from({ length: 5 }, (_, index) =>
      settlement(caller, {
        requestedAtMs: Date.now() - index * 1_800_000,
        status: index === 0 ? 404 : 200,
        credits: 0,
      }),
    )
    await settleBatch(db, batch)
    settled.push(...batch)
    if (round % 7 === 0) await voidBatch(db, batch.slice(0, 2))
    expect(await total(organizationId)).toBe(settled.length)
    expect((await readBooks(db, organizationId)).logged).toBe(settled.length)
  }
  stop = true
  await folding
  await fold()
  expect(await count('request_rollup_pending')).toBe(0)
  expect(await total(organizationId)).toBe(200)
  await readBooks(db, organizationId)
})

test('what a slow transaction logs is counted, even if later transactions were counted before', async () => {
  const { caller, organizationId } = await createAccount(db)
  const lock = await holdLock(database.url)
  const slow = db.run(
    `with mine as (select pg_current_xact_id() as xid), slept as (select ${lock.wait} from mine)
     insert into request_rollup_pending (xid, hour, organizations, callers, paths, statuses, requests, credits)
     select xid, 490000, array[999999], array[999999], array[0], array[200], array[1], array[0]
     from mine, slept`,
    [],
  )
  await lock.untilWaiting()
  for (let round = 0; round < 3; round++) {
    await settleBatch(db, [settlement(caller)])
    await fold()
  }
  expect(await count('request_rollup_pending')).toBe(0)
  await lock.release()
  await slow
  expect(await count('request_rollup_pending')).toBe(1)
  await fold()
  expect(await count('request_rollup_pending')).toBe(0)
  expect(await db.run('select requests from request_rollup where organization_no = 999999', [])).toEqual([
    { requests: '1' },
  ])
  expect(await total(organizationId)).toBe(3)
})

test('in another cluster, with other transaction ids, everything pending is counted', async () => {
  const { caller, organizationId } = await createAccount(db)
  await fold()
  await db.run(
    `insert into request_rollup_floor (xid) values ('99999999999')
     on conflict (id) do update set xid = excluded.xid`,
    [],
  )
  await settleBatch(db, [settlement(caller)])
  expect(await total(organizationId)).toBe(1)
  await fold()
  expect(await count('request_rollup_pending')).toBe(0)
  expect(await total(organizationId)).toBe(1)
})

test('a gate counts what it logged by itself, and what an earlier process left', async () => {
  const { caller, organizationId } = await createAccount(db)
  await settleBatch(db, [settlement(caller)])
  const gate = await createGate({
    db,
    clock: slowClock,
    log: silentLog,
    journalDir: temporaryDirectory(),
    jobs: { clock: systemClock },
  })
  await waitFor('what was left to be counted', async () => (await count('request_rollup_pending')) === 0)
  await gate.settle(settlement(caller))
  expect(await count('request_rollup_pending')).toBe(1)
  await waitFor('what was settled to be counted', async () => (await count('request_rollup_pending')) === 0)
  expect(await total(organizationId)).toBe(2)
  await gate.close(1_000)
})

test('an old snapshot does not make batches of the gate read more and more pages', async () => {
  // One connection, so that the counters are those of this session.
  const one = openDatabase({ url: database.url, clock: slowClock, log: silentLog, max: 1 })
  const { key, caller } = await createAccount(db, { credits: 1_000_000 })
  const facts = createKeyCache({ clock: systemClock })
  const call = async () => {
    await admitBatch(
      one,
      [{ principal: { kind: 'key' as const, hash: hashKey(key) }, endpoint: null, features: [], session: undefined }],
      facts,
    )
    await settleBatch(one, [settlement(caller)])
  }
  await call()
  const lock = await holdLock(database.url)
  const snapshot = db.run(`select ${lock.wait}, count(*) from organization`, [], {
    lane: 'background',
    deadlineMs: 70_000,
  })
  await lock.untilWaiting()
  for (let batch = 0; batch < 1_500; batch++) await call()
  // A plan that was made while the tables were empty says nothing.
  await db.run('analyze', [], { lane: 'background', deadlineMs: 30_000 })
  // By then the window's rows belong to an earlier era, whose clock is the database's.
  const era = await readEra()
  await waitFor('the era after the next', async () => (await readEra()) > era + 1)
  await call()
  const pages: number[] = []
  for (let batch = 0; batch < 21; batch++) {
    const before = await pagesRead(one)
    await call()
    pages.push((await pagesRead(one)) - before)
  }
  // The median, as one batch in two seconds begins an era and removes the rows of the era before.
  expect(pages.sort((a, b) => a - b)[10]).toBeLessThan(120)
  await lock.release()
  await snapshot
  await one.close()
}, 60_000)

/** The rate window's era: two seconds by the database's clock. */
async function readEra(): Promise<number> {
  const [row] = await db.run<{ era: number }>(
    'select floor(extract(epoch from clock_timestamp()) / 2)::int4 as era',
    [],
  )
  return row?.era ?? 0
}

/** Pages of the gate's tables and indexes that its session has read so far, from memory or from the disk. */
async function pagesRead(one: Database): Promise<number> {
  await one.run('select pg_stat_force_next_flush()', [], { lane: 'gate' })
  const [row] = await one.run<{ pages: string }>(
    `select sum(heap_blks_read + heap_blks_hit + idx_blks_read + idx_blks_hit)::text as pages
     from pg_statio_user_tables where relname like 'rate_window%' or relname like 'request_%' or relname = 'spending_limit'`,
    [],
    { lane: 'gate' },
  )
  return Number(row?.pages)
}
