import { beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { settleBatch, voidBatch } from '../../../src/account/gate/settle.ts'
import { NO_ENDPOINT, type RequestLogFilter, readRequestLog } from '../../../src/account/request_log.ts'
import type { Database } from '../../../src/db/database.ts'
import type { Settlement } from '../../../src/http/exchange/gate.ts'
import { type Account, createAccount, readBooks, settlement } from '../../support/account/scene.ts'
import { caseCount } from '../../support/cases.ts'
import { testDatabase } from '../../support/database.ts'
import { mulberry } from '../../support/random.ts'

const HOUR_MS = 3_600_000
/** Start of an hour long ago, when nothing else was logged; a week begins two hours later. */
const BASE_MS = 490_150 * HOUR_MS
const PATHS = ['/v1/a', '/v1/b/{id}', '/v1/c']
const INVENTED = ['/v1/nothing', '/v1/a', '/wp-login.php', '/']
const STATUSES = [200, 200, 200, 204, 400, 404, 429, 503]
const KEYS = ['key_one', 'key_two', 'key_three']

let db: Database
let account: Account
/** What the log holds, newest first. */
let expected: readonly Settlement[]

beforeAll(async () => {
  db = (await testDatabase()).db
  // The second week has a partition, the first has none.
  await db.run(
    "create table request_log_20251201 partition of request_log for values from ('2025-12-01') to ('2025-12-08')",
    [],
  )
  account = await createAccount(db, { credits: 1_000_000 })
  const other = await createAccount(db)
  const random = mulberry(7)
  const made = Array.from({ length: 4_000 }, (): Settlement => {
    // Bursts around the edges of hours, some within one millisecond, and an hour without any.
    const hour = [0, 1, 2, 3, 5, 6][Math.floor(random() * 6)] ?? 0
    const inHour = random() < 0.3 ? Math.floor(random() * 4) : Math.floor(random() * HOUR_MS)
    const status = pick(STATUSES, random)
    const routed = random() < 0.8
    return settlement(
      { ...account.caller, apiKeyId: pick(KEYS, random) },
      {
        requestedAtMs: BASE_MS + hour * HOUR_MS + (random() < 0.1 ? HOUR_MS - 1 : inHour),
        path: pick(routed ? PATHS : INVENTED, random),
        routed,
        status,
        credits: status < 300 ? 2 : 0,
        admitted: status !== 429,
      },
    )
  })
  for (let at = 0; at < made.length; at += 500) await settleBatch(db, made.slice(at, at + 500))
  await settleBatch(
    db,
    made.slice(0, 300).map((each) => ({ ...each, caller: other.caller, credits: 0 })),
  )
  const voided = made.filter((_, index) => index % 97 === 0)
  await voidBatch(db, voided)
  const gone = new Set(voided.map((each) => each.settlementId))
  expected = made
    .map((each) => (gone.has(each.settlementId) ? { ...each, status: 503, credits: 0 } : each))
    .toSorted((a, b) => b.requestedAtMs - a.requestedAtMs || (a.settlementId < b.settlementId ? 1 : -1))
  await db.run('analyze', [])
}, 30_000)

function matches(filter: Omit<RequestLogFilter, 'organizationId'>): readonly Settlement[] {
  return expected.filter(
    (each) =>
      each.requestedAtMs >= filter.fromMs &&
      each.requestedAtMs < filter.toMs &&
      (filter.apiKeyId === undefined || each.caller.apiKeyId === filter.apiKeyId) &&
      (filter.path === undefined || (each.routed ? each.path : NO_ENDPOINT) === filter.path) &&
      (filter.statusCode === undefined || each.status === filter.statusCode) &&
      (filter.errors === 'all' || (filter.errors === 'success') === each.status < 400),
  )
}

function instant() {
  return fc.oneof(
    fc.integer({ min: -HOUR_MS, max: 8 * HOUR_MS }),
    fc.tuple(fc.integer({ min: -1, max: 8 }), fc.integer({ min: -3, max: 5 })).map(([hour, ms]) => hour * HOUR_MS + ms),
  )
}

test('readRequestLog() equals a plain filter of the whole log, for any range, filter and page', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(instant(), instant()),
      fc.record({
        apiKeyId: fc.constantFrom(undefined, undefined, ...KEYS, 'key_of_another'),
        path: fc.constantFrom(undefined, undefined, ...PATHS, NO_ENDPOINT, NO_ENDPOINT, '/v1/b/7', '/v1/nothing'),
        statusCode: fc.constantFrom(undefined, undefined, 200, 404, 503, 418),
        errors: fc.constantFrom('all', 'all', 'success', 'errors'),
      }),
      fc.integer({ min: 1, max: 25 }),
      fc.double({ min: 0, max: 1.1, noNaN: true }),
      async (bounds, options, limit, depth) => {
        const [fromMs = 0, toMs = 0] = bounds.map((ms) => BASE_MS + ms).toSorted((a, b) => a - b)
        const filter = { fromMs, toMs, ...options }
        const all = matches(filter)
        const page = 1 + Math.floor((all.length / limit) * depth)
        const found = await readRequestLog(db, { organizationId: account.organizationId, ...filter, page, limit })
        expect(found.total).toBe(all.length)
        expect(
          found.entries.map((each) => [
            each.requested_at.getTime(),
            each.api_key_id,
            each.path,
            each.status_code,
            each.credits_charged,
          ]),
        ).toEqual(
          all
            .slice((page - 1) * limit, page * limit)
            .map((each) => [each.requestedAtMs, each.caller.apiKeyId, each.path, each.status, each.credits]),
        )
      },
    ),
    { numRuns: caseCount(400) },
  )
}, 30_000)

test('pages stay the same while new rows are added to the rollups', async () => {
  const filter = { organizationId: account.organizationId, fromMs: BASE_MS + 1, toMs: BASE_MS + 8 * HOUR_MS - 1 }
  const pages = () =>
    Promise.all([1, 40, 90].map((page) => readRequestLog(db, { ...filter, errors: 'all', page, limit: 25 })))
  const before = await pages()
  await db.run('select request_rollup_fold()', [])
  const [row] = await db.run<{ n: number }>('select count(*)::int4 as n from request_rollup_pending', [])
  expect(row?.n).toBe(0)
  expect(await pages()).toEqual(before)
})

test('walking all pages shows every entry once', async () => {
  const filter = {
    organizationId: account.organizationId,
    fromMs: BASE_MS,
    toMs: BASE_MS + 8 * HOUR_MS,
    errors: 'errors',
  } as const
  const count = matches(filter).length
  const seen: number[] = []
  for (let page = 1; page <= Math.ceil(count / 25); page++) {
    const { entries, total } = await readRequestLog(db, { ...filter, page, limit: 25 })
    expect(total).toBe(count)
    seen.push(...entries.map((entry) => entry.requested_at.getTime()))
  }
  expect(seen).toEqual(matches(filter).map((each) => each.requestedAtMs))
})

test('a page up to now reads as little of the running hour when thousands of requests fell into it', async () => {
  const own = await createAccount(db, { credits: 1_000_000 })
  const nowMs = Date.now()
  const log = async (count: number) => {
    const made = Array.from({ length: count }, (_, index) =>
      settlement(own.caller, { requestedAtMs: Math.max(nowMs - (nowMs % HOUR_MS), nowMs - count + index) }),
    )
    await settleBatch(db, made)
    await db.run('select request_rollup_fold()', [])
  }
  const countBlocks = async () => {
    const [row] = await db.run<{ 'QUERY PLAN': readonly { readonly Plan: Record<string, number> }[] }>(
      `explain (analyze, buffers, format json)
       select * from request_log_page($1, $2, $3, null, null, 100, 599, 0, 25)`,
      [own.organizationId, nowMs - 24 * HOUR_MS, nowMs + 1],
    )
    const plan = row?.['QUERY PLAN'][0]?.Plan ?? {}
    return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks'])
  }
  await log(100)
  await countBlocks()
  const few = await countBlocks()
  for (let batch = 0; batch < 8; batch++) await log(500)
  expect(await countBlocks()).toBeLessThan(2 * few)
}, 30_000)

test('a page past the end is empty and knows the total', async () => {
  const range = { organizationId: account.organizationId, fromMs: BASE_MS, toMs: BASE_MS + 8 * HOUR_MS }
  const found = await readRequestLog(db, { ...range, errors: 'all', page: 1_000_000_000, limit: 25 })
  expect(found).toEqual({ total: 4_000, entries: [] })
})

test('the name of a key comes with its entries, or its id if the key is unknown', async () => {
  const own = await createAccount(db)
  await settleBatch(db, [settlement(own.caller), settlement({ ...own.caller, apiKeyId: 'key_gone' })])
  const { entries } = await readRequestLog(db, {
    organizationId: own.organizationId,
    fromMs: 0,
    toMs: Date.now() + 60_000,
    errors: 'all',
    page: 1,
    limit: 10,
  })
  expect(new Set(entries.map((entry) => entry.api_key_name))).toEqual(new Set(['main', 'key_gone']))
})

test('invented paths are logged as requested, and counted in one row', async () => {
  const own = await createAccount(db)
  const invented = Array.from({ length: 300 }, (_, index) =>
    settlement(own.caller, { path: `/v1/nothing/${index}`, routed: false, status: 404, credits: 0 }),
  )
  const real = settlement(own.caller, { path: '/v1/nothing/{id}', status: 404, credits: 0 })
  await settleBatch(db, [...invented, real])
  await voidBatch(db, [...invented.slice(0, 100), settlement(own.caller, { path: '/v1/late', routed: false })])
  await db.run('select request_rollup_fold()', [])
  const rollups = await db.run<{ path: string; status: number; requests: string }>(
    `select p.path, r.status, r.requests from request_rollup r
     join request_caller c on c.no = r.caller_no join request_path p on p.no = r.path_no
     where c.organization_id = $1 and r.requests > 0 order by 1, 2`,
    [own.organizationId],
  )
  expect(rollups.map(({ path, status, requests }) => [path, status, Number(requests)])).toEqual([
    ['', 404, 200],
    ['', 503, 101],
    ['/v1/nothing/{id}', 404, 1],
  ])
  const { entries, total } = await readRequestLog(db, {
    organizationId: own.organizationId,
    fromMs: 0,
    toMs: Date.now() + 60_000,
    path: NO_ENDPOINT,
    errors: 'all',
    page: 1,
    limit: 25,
  })
  expect(total).toBe(301)
  expect(entries.every(({ path }) => /^\/v1\/(nothing\/\d+|late)$/.test(path))).toBe(true)
  await readBooks(db, own.organizationId)
})

test('settling and voiding keep the rollups equal to the log', async () => {
  expect(await readBooks(db, account.organizationId)).toMatchObject({ logged: 4_000 })
})

function pick<Item>(items: readonly Item[], random: () => number): Item {
  const item = items[Math.floor(random() * items.length)]
  if (item === undefined) throw new Error('Cannot pick from an empty list')
  return item
}
