import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createKey, type KeyLimits, listKeys, rerollKey } from '../../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../../src/account/audit.ts'
import { type AccountGate, createGate } from '../../../../src/account/gate/gate.ts'
import { voidBatch } from '../../../../src/account/gate/settle.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import type { Caller } from '../../../../src/http/exchange/gate.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { admitKey, admitted, createAccount, readBooks, settlement } from '../../../support/account/scene.ts'
import { caseCount } from '../../../support/cases.ts'
import { temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { openProcess } from '../../../support/operator/scene.ts'
import { slowClock } from '../../../support/test_clock.ts'

const ENDPOINT = 'GET /v1/test'
const DAY_MS = 86_400_000

let db: Database
let otherDb: Database
let gate: AccountGate
/** What a second process would be. */
let otherGate: AccountGate

beforeAll(async () => {
  const database = await testDatabase()
  db = database.db
  otherDb = openDatabase({ url: database.url, clock: slowClock, log: silentLog })
  const shared = { clock: slowClock, log: silentLog }
  gate = await createGate({ ...shared, db, journalDir: temporaryDirectory() })
  otherGate = await createGate({ ...shared, db: otherDb, journalDir: temporaryDirectory() })
}, 60_000)

afterAll(async () => {
  await gate.close(2_000)
  await otherGate.close(2_000)
  await otherDb.close()
}, 60_000)

/** A key with limits, and its caller as the gate names it. */
async function limited(organizationId: string, limits: Partial<KeyLimits>) {
  return createKey(db, { organizationId, name: 'limited', limits, by: CLI_ACTOR })
}

async function readCaller(key: string, through = gate): Promise<Caller> {
  return admitted(await admitKey(through, { key, endpoint: ENDPOINT })).caller
}

async function readSpent(apiKeyId: string): Promise<number[]> {
  const rows = await db.run<{ spent: string }>('select spent from spending_limit where scope = $1 order by period', [
    apiKeyId,
  ])
  return rows.map((row) => Number(row.spent))
}

test('a key for some networks is unknown from anywhere else', async () => {
  const { organizationId } = await createAccount(db)
  const { key } = await limited(organizationId, { networks: ['192.0.2.0/24', '2001:db8::/32'] })
  const from = async (ip: string | undefined) =>
    (await admitKey(gate, { key, endpoint: ENDPOINT, ...(ip === undefined ? {} : { client: { ip } }) })).kind
  for (const ip of ['192.0.2.1', '::ffff:192.0.2.1', '2001:db8::1'])
    expect([ip, await from(ip)]).toEqual([ip, 'admitted'])
  for (const ip of ['192.0.3.1', '127.0.0.1', '2001:db9::1', '', 'unknown', undefined]) {
    expect([ip, await from(ip)]).toEqual([ip, 'unknown_key'])
  }
})

test('a key for some endpoints is refused at all others, without filling the window', async () => {
  const { organizationId } = await createAccount(db, { rateLimit: 1 })
  const { key } = await limited(organizationId, { endpoints: [ENDPOINT] })
  for (let call = 0; call < 3; call++) {
    expect(await admitKey(gate, { key, endpoint: 'GET /v1/other' })).toMatchObject({ code: 'KEY_ENDPOINT_DISABLED' })
  }
  expect((await admitKey(gate, { key, endpoint: ENDPOINT })).kind).toBe('admitted')
})

test('over two processes a key never spends more in a day than it may, and never less than it could', async () => {
  const { organizationId, caller: free } = await createAccount(db, { credits: 10_000 })
  const { key, id } = await limited(organizationId, { creditsPerDay: 50 })
  const callers = await Promise.all([gate, otherGate].map((each) => readCaller(key, each)))
  const day = { scope: 'key', id, period: 'day', most: 50n }
  expect(callers.map(({ limits }) => limits)).toEqual(Array(2).fill([{ ...day, spent: 0n }]))
  const at = Date.now()
  const outcomes = await Promise.all(
    Array.from({ length: 160 }, async (_, index) => {
      const through = index % 2 === 0 ? gate : otherGate
      await Bun.sleep(index % 7)
      // Others of the organization go on.
      if (index % 4 === 3) return { settled: await through.settle(settlement(free, { requestedAtMs: at })), key: false }
      const caller = callers[index % 2] ?? free
      return { settled: await through.settle(settlement(caller, { requestedAtMs: at })), key: true }
    }),
  )
  const ofKey = outcomes.filter((each) => each.key).map(({ settled }) => settled)
  expect(ofKey.filter(({ paid }) => paid)).toHaveLength(50)
  expect(
    ofKey.filter(({ paid, refusedBy, creditsCharged }) => !paid && refusedBy === 'key' && creditsCharged === 0),
  ).toHaveLength(70)
  expect(outcomes.filter((each) => !each.key && each.settled.paid)).toHaveLength(40)
  expect(await readSpent(id)).toEqual([50])
  expect((await readBooks(db, organizationId)).statuses).toEqual({ 200: 90, 402: 70 })
  expect((await readCaller(key, otherGate)).limits).toEqual([{ ...day, spent: 50n }] as never)
  // Tomorrow it may spend again, and what was admitted yesterday still counts for yesterday.
  const [caller = free] = callers
  const settle = async (requestedAtMs: number) => (await gate.settle(settlement(caller, { requestedAtMs }))).paid
  expect([await settle(at + DAY_MS), await settle(at), await settle(at + DAY_MS)]).toEqual([true, false, true])
  expect(await readSpent(id)).toEqual([50, 2])
}, 20_000)

test('in any order and mixture each request meets exactly the limits that a plain ledger finds', async () => {
  const cost = fc.record({ who: fc.nat(3), credits: fc.nat(9), fails: fc.integer({ min: 0, max: 9 }) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(cost, { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 1, max: 60 }),
      async (asked, credits) => {
        const one = await createAccount(db, { credits })
        const two = await createAccount(db, { credits: 1_000 })
        const most = [undefined, 12, 20, 15]
        const organizations = [one, one, one, two]
        const callers = await Promise.all(
          most.map(async (limit, index) => {
            const { organizationId, caller } = organizations[index] ?? one
            return limit === undefined
              ? caller
              : readCaller((await limited(organizationId, { creditsPerDay: limit })).key)
          }),
        )
        const balances = new Map([
          [one.organizationId, credits],
          [two.organizationId, 1_000],
        ])
        const room = most.map((limit) => limit ?? Number.POSITIVE_INFINITY)
        const expected = asked.map(({ who, credits: price, fails }) => {
          const { organizationId } = organizations[who] ?? one
          const charge = fails === 0 ? 0 : price
          const left = balances.get(organizationId) ?? 0
          if (charge > left) return 'organization'
          if (charge > (room[who] ?? 0)) return 'key'
          balances.set(organizationId, left - charge)
          room[who] = (room[who] ?? 0) - charge
          return 'paid'
        })
        const at = Date.now()
        const settled = await Promise.all(
          asked.map(({ who, credits: price, fails }, index) =>
            gate.settle(
              settlement(callers[who] ?? one.caller, {
                requestedAtMs: at,
                path: `/v1/test/${index % 3}`,
                ...(fails === 0 ? { status: 404, credits: 0 } : { credits: price }),
              }),
            ),
          ),
        )
        expect(settled.map(({ paid, refusedBy }) => (paid ? 'paid' : refusedBy))).toEqual(expected)
        for (const { organizationId } of [one, two]) {
          expect((await readBooks(db, organizationId)).balance).toBe(balances.get(organizationId) ?? 0)
        }
      },
    ),
    { numRuns: caseCount(40) },
  )
}, 60_000)

test('a refund may be spent again the same day', async () => {
  const { organizationId } = await createAccount(db)
  const { key, id } = await limited(organizationId, { creditsPerDay: 5 })
  const caller = await readCaller(key)
  const unknown = settlement(caller, { credits: 5 })
  expect((await gate.settle(unknown)).paid).toBe(true)
  expect((await gate.settle(settlement(caller))).paid).toBe(false)
  for (let again = 0; again < 3; again++) expect(await voidBatch(db, [unknown])).toEqual([])
  expect(await readSpent(id)).toEqual([0])
  expect((await gate.settle(settlement(caller, { credits: 5 }))).paid).toBe(true)
  expect((await readBooks(db, organizationId)).balance).toBe(995)
})

test('a key keeps its limits, and passes them on to the key that replaces it', async () => {
  const { organizationId } = await createAccount(db)
  const limits: KeyLimits = { networks: ['10.0.0.0/8'], endpoints: [ENDPOINT], creditsPerDay: 7 }
  const { id } = await limited(organizationId, limits)
  const next = await rerollKey(db, { organizationId, keyId: id, by: CLI_ACTOR })
  const { items } = await listKeys(db, { organizationId, page: 1, limit: 9 })
  const kept = { allowed_networks: limits.networks, allowed_endpoints: limits.endpoints, credits_per_day: 7 }
  for (const each of [next, items.at(-1), items[1]]) expect(each).toMatchObject(kept)
  const bad: Partial<KeyLimits>[] = [
    ...[{ networks: [] }, { networks: ['10.0.0.1/8'] }, { networks: ['x'] }, { networks: Array(33).fill('') }],
    ...[{ endpoints: [] }, { endpoints: ['/v1'] }, { endpoints: ['GET /v1\nx'] }],
    ...[{ creditsPerDay: 0 }, { creditsPerDay: 1.5 }, { creditsPerDay: 1e13 }],
  ]
  for (const each of bad) {
    const refused = await limited(organizationId, each).catch((error) => error)
    expect([each, refused.code]).toEqual([each, 'INVALID_PARAMETER'])
  }
})

test('over HTTP: 401 from elsewhere, 403 elsewhere, 402 when the day is used up, before and at the charge', async () => {
  const { organizationId } = await createAccount(db)
  const process = await openProcess(db)
  const ask = async (key: string) => {
    const { status, body } = await process.ask('/v1/usage/logs', { key })
    return [status, body.error?.code, body.error?.message]
  }
  const elsewhere = await limited(organizationId, { networks: ['192.0.2.0/24'] })
  expect(await ask(elsewhere.key)).toEqual([401, 'INVALID_API_KEY', expect.stringContaining('Cannot authenticate')])
  const here = await limited(organizationId, { networks: ['127.0.0.0/8'] })
  expect((await ask(here.key))[0]).toBe(200)
  // Headers of a proxy are not trusted.
  const forwarded = { key: elsewhere.key, headers: { 'x-forwarded-for': '192.0.2.1', forwarded: 'for=192.0.2.1' } }
  expect((await process.ask('/v1/usage/logs', forwarded)).status).toBe(401)
  const narrow = await limited(organizationId, { endpoints: ['GET /v1/lending/aave-v3'] })
  expect(await ask(narrow.key)).toEqual([
    403,
    'ENDPOINT_DISABLED',
    'Cannot answer: this key may not call this endpoint',
  ])
  const frugal = await limited(organizationId, { creditsPerDay: 2 })
  const all = await Promise.all(Array.from({ length: 6 }, () => ask(frugal.key)))
  const message = 'Cannot pay for this request: this key may spend 2 credits a day (UTC), and too few of them are left'
  expect(all.filter(([status]) => status === 200)).toHaveLength(2)
  expect(all.filter(([status]) => status !== 200)).toEqual(Array(4).fill([402, 'INSUFFICIENT_CREDITS', message]))
  expect(await ask(frugal.key)).toEqual([402, 'INSUFFICIENT_CREDITS', message])
  expect((await readBooks(db, organizationId)).statuses).toEqual({ 200: 3, 402: 5, 403: 1 })
  await process.close()
})
