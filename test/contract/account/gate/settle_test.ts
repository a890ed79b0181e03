import { afterAll, beforeAll, expect, test } from 'bun:test'
import { admitBatch } from '../../../../src/account/gate/admit.ts'
import { createKeyCache } from '../../../../src/account/gate/key_cache.ts'
import { settleBatch } from '../../../../src/account/gate/settle.ts'
import { hashKey } from '../../../../src/account/key.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createAccount, readBooks, settlement } from '../../../support/account/scene.ts'
import { testDatabase } from '../../../support/database.ts'
import { holdLock } from '../../../support/held_lock.ts'
import { waitForLockWaits } from '../../../support/lock_waits.ts'
import { createPatientClock, slowClock } from '../../../support/test_clock.ts'

const HOUR_MS = 3_600_000

let url: string
let db: Database

beforeAll(async () => {
  // One connection, so that plans are made once and counters are those of this session.
  url = (await testDatabase()).url
  db = openDatabase({ url, clock: slowClock, log: silentLog, max: 1 })
}, 60_000)

afterAll(() => db.close(), 60_000)

test('settleBatch() counts each request in its own hour and answers in order of arrival', async () => {
  const { caller, organizationId } = await createAccount(db, { credits: 10 })
  const beginMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  // The older requests come between the younger ones: they were admitted first and are paid first.
  const batch = [0, -1, 5, -HOUR_MS, 7, -2].map((ms, index) =>
    settlement(caller, { requestedAtMs: beginMs + ms, credits: 3, latencyMs: index }),
  )
  const outcomes = await settleBatch(db, batch)
  expect(outcomes.map((each) => 'paid' in each && each.paid)).toEqual([false, true, false, true, false, true])
  expect(await readBooks(db, organizationId)).toMatchObject({ balance: 1, charged: 9, logged: 6 })
})

test('settleBatch() settles every other row once if the database refuses one, in any hour', async () => {
  const { caller, organizationId } = await createAccount(db, { credits: 100 })
  const beginMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const batch = [-2, -1, 1, 2].map((ms) => settlement(caller, { requestedAtMs: beginMs + ms, credits: 5 }))
  const poisoned = settlement(caller, { requestedAtMs: beginMs + 3, credits: -5 })
  const outcomes = await settleBatch(db, [...batch, poisoned])
  expect(outcomes.map((each) => 'paid' in each && each.paid)).toEqual([true, true, true, true, false])
  expect(await readBooks(db, organizationId)).toMatchObject({ balance: 80, charged: 20, logged: 4 })
})

test('settleBatch() decides in time even if every organization of a full batch lacks credits', async () => {
  await createMany(2_048)
  const batch = Array.from({ length: 2_048 }, (_, index) =>
    settlement(
      { organizationId: `org_many${index + 1}`, apiKeyId: 'key', credits: 1_000_000n, limits: [] },
      { credits: 2 },
    ),
  )
  const outcomes = await settleBatch(db, batch)
  expect(outcomes.filter((each) => 'paid' in each && !each.paid && each.creditsRemaining === 1n)).toHaveLength(2_048)
  expect(await readBooks(db, 'org_many2048')).toMatchObject({ balance: 1, statuses: { 402: 1 } })
})

test('settleBatch() counts requests that could not be paid with those that were 402 before', async () => {
  const { caller, organizationId } = await createAccount(db, { credits: 5 })
  const outcomes = await settleBatch(db, [
    settlement(caller, { credits: 4 }),
    settlement(caller, { status: 402, credits: 0 }),
    settlement(caller, { credits: 2 }),
    settlement(caller, { credits: 2, method: 'HEAD' }),
    settlement(caller, { credits: 1 }),
  ])
  expect(outcomes.map((each) => 'paid' in each && each.paid)).toEqual([true, true, false, false, true])
  expect(await readBooks(db, organizationId)).toMatchObject({ balance: 0, charged: 5, statuses: { 200: 2, 402: 3 } })
})

test('settleBatch() pays in order of arrival even if the balance is less than at the admission', async () => {
  const { caller, organizationId } = await createAccount(db, { credits: 5 })
  const rich = await createAccount(db, { credits: 1_000 })
  const seen = { ...caller, credits: 1_000_000n }
  const outcomes = await settleBatch(db, [
    settlement(seen, { credits: 3 }),
    settlement(rich.caller, { credits: 3 }),
    settlement(seen, { credits: 3 }),
    settlement(seen, { credits: 2 }),
  ])
  expect(outcomes.map((each) => 'paid' in each && [each.paid, each.creditsRemaining])).toEqual([
    [true, 0n],
    [true, 997n],
    [false, 0n],
    [true, 0n],
  ])
  expect(await readBooks(db, organizationId)).toMatchObject({ balance: 0, charged: 5, statuses: { 200: 2, 402: 1 } })
  expect(await readBooks(db, rich.organizationId)).toMatchObject({ balance: 997, charged: 3, logged: 1 })
})

test('admitBatch() and settleBatch() read few rows of large tables, though their plans were made over small ones', async () => {
  const { key, caller, organizationId } = await createAccount(db)
  const requests = [
    { principal: { kind: 'key' as const, hash: hashKey(key) }, endpoint: null, features: [], session: undefined },
  ]
  const day = { scope: 'key', id: caller.apiKeyId, period: 'day', spent: 0n, most: 1_000n } as const
  const limited = { ...caller, limits: [day] }
  await settleBatch(db, [settlement(limited)])
  await db.run('analyze', [], { lane: 'background', deadlineMs: 30_000 })
  await admitBatch(db, requests, createKeyCache({ clock: systemClock }))
  await settleBatch(db, [settlement(caller)])
  await settleBatch(db, [settlement(limited)])

  await createMany(3_000)
  const others = `from generate_series(1, 3000) n cross join organization o where o.id = $1`
  for (const statement of [
    `insert into api_key (organization_id, id, name, hash, last4)
     select 'org_many' || n, 'key', 'many', sha256(n::text::bytea), 'many' ${others}`,
    `insert into rate_window (organization_id) select 'org_many' || n ${others}`,
    // Of organizations that are idle since.
    `insert into rate_window_state (organization_id, era, at, upto, since)
     select 'org_many' || n, s.era - 1, '{}', '{}', 0 from generate_series(1, 3000) n cross join rate_window_state s
     where s.organization_id = $1`,
    `insert into spending_limit (organization_id, scope, period, spent)
     select 'org_many' || n, 'key', d.period - 2, 1 from generate_series(1, 3000) n
     cross join spending_limit d where d.organization_id = $1 and d.period > 0`,
    `insert into request_caller (organization_no, organization_id, api_key_id)
     select 1000 + n, 'org_many' || n, 'key' ${others} on conflict do nothing`,
    `insert into request_path (path) select '/v1/many/' || n ${others}`,
    `insert into request_rollup select c.no, r.day, c.no, r.path_no, r.status, 1, 1, r.by_hour
     from request_caller c cross join request_rollup r
     where c.organization_id like 'org_many%' and r.organization_no in (
       select x.organization_no from request_caller x where x.organization_id = $1)
     on conflict do nothing`,
  ]) {
    // In the session that rowsRead() flushes: another would count its checks of foreign keys a second later.
    await db.run(statement, [organizationId], { lane: 'gate' })
  }

  // Without its window, which must be primed.
  await db.run('delete from rate_window where organization_id = $1', [organizationId])
  const before = await rowsRead()
  await admitBatch(db, requests, createKeyCache({ clock: systemClock }))
  // An organization that pays, one that does not, and a status that is not counted yet.
  await settleBatch(db, [settlement(caller), settlement(caller, { status: 404, credits: 0 })])
  await settleBatch(db, [settlement(limited)])
  expect((await rowsRead()) - before).toBeLessThan(100)
})

test('batches that bring the same new names at once agree on their numbers', async () => {
  const { caller, organizationId } = await createAccount(db)
  const path = `/v1/new/${organizationId}`
  // Each over a connection of its own. The first one waits for the balance when it has its numbers.
  const many = openDatabase({ url, clock: createPatientClock(), log: silentLog, graceMs: 30_000 })
  const lock = await holdLock(url)
  const held = many.run(
    `with balance as (select from spending_limit where organization_id = $1 for update)
     select ${lock.wait} from balance`,
    [organizationId],
  )
  await lock.untilWaiting()
  const batches = Array.from({ length: 8 }, (_, key) => [settlement({ ...caller, apiKeyId: `key_${key}` }, { path })])
  const settling = Promise.all(batches.map((batch) => settleBatch(many, batch)))
  // The holder of the balance waits too, and no further one can come: a lane has eight connections.
  await waitForLockWaits(db, batches.length + 1)
  await lock.release()
  const outcomes = await settling
  await held
  await many.close()
  expect(outcomes.flat().every((each) => 'paid' in each && each.paid)).toBe(true)
  const numbers = await db.run<{ organization_no: number; api_key_id: string }>(
    'select organization_no, api_key_id from request_caller where organization_id = $1 order by api_key_id',
    [organizationId],
  )
  expect(numbers.map((row) => row.api_key_id)).toEqual(batches.map((_, key) => `key_${key}`))
  expect(new Set(numbers.map((row) => row.organization_no)).size).toBe(1)
  expect(await readBooks(db, organizationId)).toMatchObject({ logged: 8, charged: 8 })
})

/** Makes organizations `org_many1`, `org_many2`, … with one credit each, unless they exist. */
async function createMany(count: number): Promise<void> {
  for (const statement of [
    `insert into organization (id, name) select 'org_many' || n, 'many' from generate_series(1, $1::integer) n
     on conflict do nothing`,
    `insert into spending_limit (organization_id, most)
     select 'org_many' || n, 1 from generate_series(1, $1::integer) n on conflict do nothing`,
  ]) {
    await db.run(statement, [count], { lane: 'gate' })
  }
}

/** Rows read from the gate's tables so far, by all sessions of this database. */
async function rowsRead(): Promise<number> {
  // The session of the lane whose work is counted.
  await db.run('select pg_stat_force_next_flush()', [], { lane: 'gate' })
  const [row] = await db.run<{ read: string }>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::text as read from pg_stat_user_tables
     where relname in ('organization', 'api_key', 'spending_limit', 'rate_window', 'rate_window_state', 'request_rollup', 'request_log',
       'request_caller', 'request_path')`,
    [],
  )
  return Number(row?.read)
}
