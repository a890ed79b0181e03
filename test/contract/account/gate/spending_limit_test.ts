import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createKey } from '../../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../../src/account/audit.ts'
import { type AccountGate, createGate } from '../../../../src/account/gate/gate.ts'
import { voidBatch } from '../../../../src/account/gate/settle.ts'
import { retentionJob } from '../../../../src/account/retention.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import type { Caller, SessionRequest } from '../../../../src/http/exchange/gate.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import {
  type Account,
  admitKey,
  admitted,
  createAccount,
  readBooks,
  settlement,
} from '../../../support/account/scene.ts'
import { temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { settle, slowClock } from '../../../support/test_clock.ts'

/** One round of the job. */
function tendLog(days: number): Promise<unknown> {
  return retentionJob({ db, log: silentLog, days }).round(new AbortController().signal)
}

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

let begun = 0

/** The caller of a request of a session. */
async function readCaller(account: Pick<Account, 'key'>, session: SessionRequest, through = gate): Promise<Caller> {
  return admitted(await admitKey(through, { key: account.key, endpoint: 'POST /mcp', session })).caller
}

/** Begins a session; its id. */
async function begin(account: Pick<Account, 'key'>): Promise<string> {
  begun++
  const id = `session-${begun}`
  const caller = await readCaller(account, { id, creditsMax: 1n, isNew: true })
  expect((await gate.settle(settlement(caller, { credits: 0, path: '/mcp' }))).paid).toBe(true)
  return id
}

/** Spending of a session, read by a request without a budget; undefined for a session that was never opened. */
async function readSpent(account: Pick<Account, 'key'>, id: string): Promise<bigint | undefined> {
  const { limits } = await readCaller(account, { id, creditsMax: undefined, isNew: false })
  return limits.find(({ scope }) => scope === 'session')?.spent
}

test('over two processes a session never spends more than its budget, and never less than it could', async () => {
  const account = await createAccount(db)
  const id = await begin(account)
  const session = { id, creditsMax: 50n, isNew: false }
  const callers = await Promise.all([gate, otherGate].map((each) => readCaller(account, session, each)))
  const settled = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      await settle(index % 5)
      const through = index % 2 === 0 ? gate : otherGate
      return through.settle(settlement(callers[index % 2] ?? account.caller, { credits: 3 }))
    }),
  )
  expect(settled.filter(({ paid }) => paid)).toHaveLength(16)
  expect(
    settled.filter(({ refusedBy, creditsCharged }) => refusedBy === 'session' && creditsCharged === 0),
  ).toHaveLength(24)
  expect(await readSpent(account, id)).toBe(48n)
  // What refused a request took nothing from the balance either.
  expect(await readBooks(db, account.organizationId)).toMatchObject({ balance: 952, statuses: { 200: 17, 402: 24 } })
  // A later request may set another budget.
  const more = await readCaller(account, { ...session, creditsMax: 51n })
  expect((await gate.settle(settlement(more, { credits: 3 }))).paid).toBe(true)
  expect((await gate.settle(settlement(more, { credits: 1 }))).paid).toBe(false)
})

test('a session is known once the request that begins it was answered, to its own organization', async () => {
  const account = await createAccount(db)
  const other = await createAccount(db)
  expect(await readSpent(account, 'session-of-nobody')).toBeUndefined()
  const failed = await readCaller(account, { id: 'session-failed', creditsMax: 5n, isNew: true })
  await gate.settle(settlement(failed, { status: 400, credits: 0 }))
  expect(await readSpent(account, 'session-failed')).toBeUndefined()
  const id = await begin(account)
  expect(await readSpent(account, id)).toBe(0n)
  expect(await readSpent(other, id)).toBeUndefined()
  // Without a budget nothing is counted.
  const free = await readCaller(account, { id, creditsMax: undefined, isNew: false })
  expect((await gate.settle(settlement(free, { credits: 7 }))).paid).toBe(true)
  expect(await readSpent(account, id)).toBe(0n)
})

test('a void refunds the session and the balance alike, once', async () => {
  const account = await createAccount(db)
  const { organizationId } = account
  const id = await begin(account)
  const caller = await readCaller(account, { id, creditsMax: 9n, isNew: false })
  const lost = settlement(caller, { credits: 9 })
  expect((await gate.settle(lost)).paid).toBe(true)
  expect((await gate.settle(settlement(caller))).refusedBy).toBe('session')
  for (let again = 0; again < 3; again++) expect(await voidBatch(db, [lost])).toEqual([])
  expect(await readSpent(account, id)).toBe(0n)
  expect((await readBooks(db, organizationId)).balance).toBe(1_000)
  // A settlement that its void overtook is charged nowhere.
  const late = settlement(caller, { credits: 9 })
  expect(await voidBatch(db, [late])).toEqual([])
  await expect(gate.settle(late)).rejects.toThrow()
  expect(await readSpent(account, id)).toBe(0n)
})

test('in any mixture each request meets exactly the limits that a plain ledger finds, or is charged to none', async () => {
  const request = fc.record({
    who: fc.constantFrom('free', 'limited'),
    session: fc.constantFrom(undefined, 0, 0, 1),
    most: fc.constantFrom(5, 20, 30),
    credits: fc.nat(9),
    voids: fc.integer({ min: 0, max: 9 }),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.array(request, { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 1, max: 90 }),
      async (requests, credits) => {
        const account = await createAccount(db, { credits })
        const { organizationId } = account
        const key = await createKey(db, {
          organizationId,
          name: 'limited',
          limits: { creditsPerDay: 40 },
          by: CLI_ACTOR,
        })
        const sessions = [await begin(account), await begin(account)]
        const spent = new Map<string, number>()
        const rows = (each: (typeof requests)[number]): readonly (readonly [name: string, most: number])[] => [
          ['organization', credits],
          ...(each.who === 'limited' ? [['key', 40] as const] : []),
          ...(each.session === undefined ? [] : [[`session ${each.session}`, each.most] as const]),
        ]
        const charge = (each: (typeof requests)[number], sign: 1 | -1) => {
          for (const [name] of rows(each)) spent.set(name, (spent.get(name) ?? 0) + sign * each.credits)
        }
        const at = Date.now()
        const asked = await Promise.all(
          requests.map(async (each) => {
            const id = each.session === undefined ? undefined : sessions[each.session]
            const session = id === undefined ? undefined : { id, creditsMax: BigInt(each.most), isNew: false }
            const asking = each.who === 'free' ? account.key : key.key
            const { caller } = admitted(await admitKey(gate, { key: asking, endpoint: null, session }))
            return settlement(caller, { requestedAtMs: at, credits: each.credits })
          }),
        )
        const expected = requests.map((each) => {
          const short =
            each.credits > 0 && rows(each).find(([name, most]) => (spent.get(name) ?? 0) + each.credits > most)
          if (!short) charge(each, 1)
          return short ? short[0].replace(/ .*/, '') : 'paid'
        })
        const settled = await Promise.all(asked.map((each) => gate.settle(each)))
        expect(settled.map(({ paid, refusedBy }): string => (paid ? 'paid' : (refusedBy ?? 'nobody')))).toEqual(
          expected,
        )
        // Some answers never left.
        const lost = requests.flatMap((each, index) => (each.voids === 0 ? [index] : []))
        expect(
          await voidBatch(
            db,
            lost.flatMap((index) => asked[index] ?? []),
          ),
        ).toEqual([])
        for (const index of lost) {
          const each = requests[index]
          if (each !== undefined && expected[index] === 'paid') charge(each, -1)
        }
        expect((await readBooks(db, organizationId)).balance).toBe(credits - (spent.get('organization') ?? 0))
        for (const [index, id] of sessions.entries()) {
          expect(await readSpent(account, id)).toBe(BigInt(spent.get(`session ${index}`) ?? 0))
        }
      },
    ),
    { numRuns: 30 },
  )
}, 60_000)

test('a session and a day of a key are forgotten thirty days after the last charge, a balance never', async () => {
  const account = await createAccount(db, { credits: 5 })
  const id = await begin(account)
  const age = (days: number) =>
    db.run(`update spending_limit set spent_at = now() - make_interval(days => $1::integer)`, [days])
  await age(29)
  await tendLog(0)
  expect(await readSpent(account, id)).toBe(0n)
  await age(31)
  await tendLog(0)
  expect(await readSpent(account, id)).toBeUndefined()
  expect(await readBooks(db, account.organizationId)).toMatchObject({ balance: 5 })
})
