import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { createKey, revokeKey } from '../../../../src/account/api_key.ts'
import { CLI_ACTOR } from '../../../../src/account/audit.ts'
import { type AccountGate, createGate } from '../../../../src/account/gate/gate.ts'
import { mintKey } from '../../../../src/account/key.ts'
import { setOrganizationState, updateOrganization } from '../../../../src/account/organization.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import type { Database } from '../../../../src/db/database.ts'
import type { Caller } from '../../../../src/http/exchange/gate.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import {
  admitKey,
  admitted,
  ageRateWindow,
  createAccount,
  readBooks,
  settlement,
} from '../../../support/account/scene.ts'
import { caseCount } from '../../../support/cases.ts'
import { temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { holdLock } from '../../../support/held_lock.ts'
import { settle, slowClock } from '../../../support/test_clock.ts'

const ENDPOINT = 'GET /v1/test'

let url: string
let db: Database
let otherDb: Database
let gate: AccountGate
/** What a second process would be. */
let otherGate: AccountGate

beforeAll(async () => {
  ;({ url, db } = await testDatabase())
  otherDb = openDatabase({ url, clock: slowClock, log: silentLog })
  gate = await createGate({ db, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
  otherGate = await createGate({ db: otherDb, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
}, 60_000)

afterAll(async () => {
  await gate.close(2_000)
  await otherGate.close(2_000)
  await otherDb.close()
}, 60_000)

async function verdict(key: string, endpoint: string | null = ENDPOINT): Promise<string> {
  const admission = await admitKey(gate, { key, endpoint })
  return admission.kind === 'refused' ? admission.code : admission.kind
}

describe('admit', () => {
  test('names the caller, the balance and the database time of a good key', async () => {
    const { key, organizationId, apiKeyId } = await createAccount(db, { credits: 77, rateLimit: 5 })
    const admission = admitted(await admitKey(gate, { key, endpoint: ENDPOINT }))
    expect(admission.caller).toEqual({ organizationId, apiKeyId, credits: 77n, limits: [] })
    expect(admission.rateLimit).toMatchObject({ limit: 5, remaining: 4 })
    expect(Number.isSafeInteger(admission.requestedAtMs)).toBe(true)
    const oldestFreesMs = admission.requestedAtMs + 1_000
    expect(admission.rateLimit.resetSec).toBeGreaterThanOrEqual(Math.floor(oldestFreesMs / 1_000))
    expect(admission.rateLimit.resetSec).toBeLessThanOrEqual(Math.ceil((oldestFreesMs + 1) / 1_000))
  })

  test('recognizes neither malformed keys nor invented well-formed ones', async () => {
    const { key } = await createAccount(db)
    for (const unknown of ['', 'nonsense', key.slice(0, -1), mintKey().key])
      expect(await verdict(unknown)).toBe('unknown_key')
  })

  test('a key is recognized where it may be used, which counts as no request', async () => {
    const { key, organizationId } = await createAccount(db, { rateLimit: 1 })
    const near = await createKey(db, {
      by: CLI_ACTOR,
      organizationId,
      name: 'near',
      limits: { networks: ['10.0.0.0/8'] },
    })
    const recognize = (text: string, ip: string) => {
      const holder = gate.toHolder(text, { ip })
      if (holder === undefined) throw new Error('Cannot ask: the key is malformed')
      return gate.recognize(holder)
    }
    const invented = mintKey().key
    const asked = [key, key, near.key, invented, invented].map((each) => recognize(each, '10.0.0.1'))
    expect(await Promise.all(asked)).toEqual([true, true, true, false, false])
    expect([await recognize(near.key, '11.0.0.1'), await recognize(key, '11.0.0.1')]).toEqual([false, true])
    expect([await verdict(key), await verdict(key)]).toEqual(['admitted', 'RATE_LIMIT_EXCEEDED'])
  })

  test('a revoked or expired key is unknown with its next request, the other keys go on', async () => {
    const { key, organizationId, apiKeyId } = await createAccount(db)
    const second = await createKey(db, { by: CLI_ACTOR, organizationId, name: 'second' })
    const expired = await createKey(db, {
      by: CLI_ACTOR,
      organizationId,
      name: 'old',
      expiresAt: new Date(Date.now() - 1),
    })
    expect(await verdict(key)).toBe('admitted')
    expect(await verdict(expired.key)).toBe('unknown_key')
    await revokeKey(db, { by: CLI_ACTOR, organizationId, keyId: apiKeyId })
    expect(await verdict(key)).toBe('unknown_key')
    expect(await verdict(second.key)).toBe('admitted')
  })

  test('suspension, restoration and deletion act with the next request', async () => {
    const { key, organizationId } = await createAccount(db)
    expect(await verdict(key)).toBe('admitted')
    await setOrganizationState(db, 'suspend', { id: organizationId, by: CLI_ACTOR })
    expect(await verdict(key)).toBe('ACCOUNT_SUSPENDED')
    await setOrganizationState(db, 'restore', { id: organizationId, by: CLI_ACTOR })
    expect(await verdict(key)).toBe('admitted')
    await setOrganizationState(db, 'suspend', { id: organizationId, by: CLI_ACTOR })
    await setOrganizationState(db, 'delete', { id: organizationId, by: CLI_ACTOR })
    expect(await verdict(key)).toBe('ORGANIZATION_NOT_FOUND')
  })

  test('a disabled endpoint is refused by its exact name, to every caller, and does not fill the window', async () => {
    const { key } = await createAccount(db, { rateLimit: 1 })
    await db.run(`insert into endpoint_disabled (endpoint) values ('GET /v1/off')`, [])
    for (let count = 0; count < 3; count++) expect(await verdict(key, 'GET /v1/off')).toBe('ENDPOINT_DISABLED')
    expect(await verdict(key, 'POST /v1/off')).toBe('admitted')
    expect(await verdict(key, null)).toBe('RATE_LIMIT_EXCEEDED')
  })

  test('one batch with different keys, endpoints and organizations gives each request its own verdict', async () => {
    const small = await createAccount(db, { rateLimit: 2 })
    const large = await createAccount(db, { rateLimit: 50 })
    const stopped = await createAccount(db)
    await setOrganizationState(db, 'suspend', { id: stopped.organizationId, by: CLI_ACTOR })
    const second = await createKey(db, { by: CLI_ACTOR, organizationId: small.organizationId, name: 'second' })
    const keys = [small.key, large.key, mintKey().key, second.key, stopped.key, small.key, large.key, second.key]
    const admissions = await Promise.all(keys.map((key) => admitKey(gate, { key, endpoint: ENDPOINT })))
    expect(admissions.map((each) => (each.kind === 'refused' ? each.code : each.kind))).toEqual([
      'admitted',
      'admitted',
      'unknown_key',
      'admitted',
      'ACCOUNT_SUSPENDED',
      'RATE_LIMIT_EXCEEDED',
      'admitted',
      'RATE_LIMIT_EXCEEDED',
    ])
    expect(admissions.map((each) => (each.kind === 'unknown_key' ? undefined : each.rateLimit.remaining))).toEqual([
      1,
      49,
      undefined,
      0,
      100_000,
      0,
      48,
      0,
    ])
  })

  test('a new rate limit acts with the next request', async () => {
    const { key, organizationId } = await createAccount(db, { rateLimit: 1 })
    expect([await verdict(key), await verdict(key)]).toEqual(['admitted', 'RATE_LIMIT_EXCEEDED'])
    await updateOrganization(db, { by: CLI_ACTOR, id: organizationId, rateLimit: 2 })
    expect([await verdict(key), await verdict(key)]).toEqual(['admitted', 'RATE_LIMIT_EXCEEDED'])
  })
})

describe('rate limit', () => {
  test('admits at most N in any one second over two gates, and no fewer than it may', async () => {
    const hammer = async (rateLimit: number) => {
      const { key, organizationId } = await createAccount(db, { rateLimit })
      const timesMs: number[] = []
      for (let agedMs = 0; agedMs <= 2_000; agedMs += 200) {
        const tries = Array.from({ length: rateLimit + 2 }, (_, index) =>
          admitKey(index % 2 === 0 ? gate : otherGate, { key, endpoint: ENDPOINT }),
        )
        for (const admission of await Promise.all(tries)) {
          if (admission.kind === 'admitted') timesMs.push(admission.requestedAtMs + agedMs)
        }
        await ageRateWindow(db, organizationId, 200)
      }
      timesMs.sort((a, b) => a - b)
      // Times are cut to milliseconds: two admissions a second apart may look 1 ms closer.
      const tooMany = timesMs.filter((firstMs, index) => (timesMs[index + rateLimit] ?? Infinity) - firstMs < 999)
      return { tooMany, admitted: timesMs.length }
    }
    const rateLimits = [1, 5, 100, 250]
    const outcomes = await Promise.all(rateLimits.map(hammer))
    for (const [index, rateLimit] of rateLimits.entries()) {
      expect(outcomes[index]?.tooMany).toEqual([])
      // At the beginning, and after each of two seconds.
      expect(outcomes[index]?.admitted).toBeGreaterThanOrEqual(rateLimit * 3)
    }
  }, 30_000)

  test('a caller that stays at nine tenths of the limit is never refused', async () => {
    const pace = async (rateLimit: number) => {
      const { key, organizationId } = await createAccount(db, { rateLimit })
      const everyMs = 1_000 / (rateLimit * 0.9)
      const verdicts: string[] = []
      for (let count = 0; count * everyMs < 1_600; count++) {
        verdicts.push(await verdict(key))
        // What the call itself took is not taken off: its place in the window may be late in it, and the next one's early.
        await ageRateWindow(db, organizationId, everyMs)
      }
      return verdicts
    }
    const verdicts = await Promise.all([5, 200].map(pace))
    expect(verdicts.map((each) => [...new Set(each)])).toEqual([['admitted'], ['admitted']])
  }, 30_000)

  test('a caller that waits until the reset is admitted', async () => {
    const { key, organizationId } = await createAccount(db, { rateLimit: 3 })
    const admit = () => admitKey(gate, { key, endpoint: ENDPOINT })
    // Both times are truncated to milliseconds.
    const pass = (waitMs: number) => ageRateWindow(db, organizationId, waitMs + 1)
    let refusal = await admit()
    // On a busy machine, places become free again before all are taken.
    for (let count = 0; refusal.kind !== 'refused' && count < 100; count++) refusal = await admit()
    if (refusal.kind !== 'refused') throw new Error('Expected a refusal')
    const { waitMs, resetSec } = refusal.rateLimit
    // Never above a second, which is what a client of whole seconds is told to wait then.
    expect(waitMs).toBeGreaterThanOrEqual(0)
    expect(waitMs).toBeLessThanOrEqual(1_000)
    expect([0, 1]).toContain(resetSec - Math.ceil((refusal.requestedAtMs + waitMs) / 1_000))
    await pass(waitMs)
    admitted(await admit())
    // The next two places free as much later as they were taken.
    for (let count = 0; count < 2; count++) {
      const next = await admit()
      if (next.kind !== 'refused') continue
      await pass(next.rateLimit.waitMs)
      admitted(await admit())
    }
  }, 10_000)

  test('the window row stays small under any load', async () => {
    const { key, organizationId } = await createAccount(db, { rateLimit: 100_000 })
    let entriesMost = 0
    // Several windows, and until one had calls enough: how many it has is the machine's.
    for (let count = 0; count < 15 || entriesMost <= 30; count++) {
      for (let call = 0; call < 20; call++) {
        await admitKey(gate, { key, endpoint: ENDPOINT })
        // Entries are ten milliseconds apart.
        await ageRateWindow(db, organizationId, 10)
      }
      const [row] = await db.run<{ entries: number; bytes: number }>(
        `select cardinality(at) as entries, pg_column_size(w.*) as bytes from rate_window_state w where organization_id = $1
         order by era desc limit 1`,
        [organizationId],
      )
      expect(row?.entries).toBeLessThanOrEqual(117)
      expect(row?.bytes).toBeLessThan(2_000)
      entriesMost = Math.max(entriesMost, row?.entries ?? 0)
    }
  }, 60_000)

  test('an emptied window is primed from the admitted requests of the log', async () => {
    const { key, organizationId } = await createAccount(db, { rateLimit: 4 })
    for (let count = 0; count < 3; count++) {
      const { caller, requestedAtMs } = admitted(await admitKey(gate, { key, endpoint: ENDPOINT }))
      await gate.settle(settlement(caller, { requestedAtMs }))
    }
    // Neither refused requests nor old ones count.
    const { caller } = await createAccount(db)
    const own = { ...caller, organizationId }
    await gate.settle(settlement(own, { admitted: false, status: 403, credits: 0 }))
    await gate.settle(settlement(own, { requestedAtMs: Date.now() - 5_000 }))
    await db.run('delete from rate_window where organization_id = $1', [organizationId])
    expect([await verdict(key), await verdict(key)]).toEqual(['admitted', 'RATE_LIMIT_EXCEEDED'])
  })

  test('after a clock was set back, no caller waits longer than a second', async () => {
    const { key, organizationId } = await createAccount(db, { rateLimit: 1 })
    expect(await verdict(key)).toBe('admitted')
    await db.run(
      `update rate_window_state set at = array[clock_timestamp() + interval '1 hour'] where organization_id = $1`,
      [organizationId],
    )
    expect(await verdict(key)).toBe('RATE_LIMIT_EXCEEDED')
    await ageRateWindow(db, organizationId, 1_000)
    expect(await verdict(key)).toBe('admitted')
  })
})

describe('settle', () => {
  test('charges a 2xx and logs every status, once the row exists', async () => {
    const { organizationId, caller } = await createAccount(db, { credits: 100 })
    expect(await gate.settle(settlement(caller, { credits: 15 }))).toEqual({
      paid: true,
      creditsCharged: 15,
      creditsRemaining: 85n,
    })
    for (const status of [400, 402, 404, 429, 499, 503]) {
      expect(await gate.settle(settlement(caller, { status, credits: 0 }))).toEqual({
        paid: true,
        creditsCharged: 0,
        creditsRemaining: 85n,
      })
    }
    expect(await readBooks(db, organizationId)).toMatchObject({ balance: 85, charged: 15, logged: 7 })
  })

  test('exactly as many are paid as the balance holds, from two gates at once', async () => {
    const accounts = await Promise.all([100, 101, 0, 7, 1_000].map((credits) => createAccount(db, { credits })))
    const cost = 3
    const outcomes = await Promise.all(
      Array.from({ length: 1_500 }, async (_, index) => {
        const { caller, organizationId } = accounts[index % accounts.length] ?? (accounts[0] as (typeof accounts)[0])
        const through = index % 2 === 0 ? gate : otherGate
        if (index % 7 === 0) await settle(index % 11)
        return { organizationId, ...(await through.settle(settlement(caller, { credits: cost }))) }
      }),
    )
    for (const { organizationId, caller } of accounts) {
      const own = outcomes.filter((outcome) => outcome.organizationId === organizationId)
      const payable = Math.min(own.length, Math.floor(Number(caller.credits) / cost))
      expect(own.filter((outcome) => outcome.paid)).toHaveLength(payable)
      const books = await readBooks(db, organizationId)
      expect(books.statuses['200'] ?? 0).toBe(payable)
      expect(books.logged).toBe(own.length)
      for (const outcome of own) expect(outcome.creditsCharged).toBe(outcome.paid ? cost : 0)
    }
  })

  test('one batch is paid in order of arrival, each in full or not at all', async () => {
    const { caller } = await createAccount(db, { credits: 10 })
    const costs = [4, 7, 5, 2, 1, 1]
    const outcomes = await Promise.all(costs.map((credits) => gate.settle(settlement(caller, { credits }))))
    expect(outcomes.map((outcome) => outcome.paid)).toEqual([true, false, true, false, true, false])
  })

  test('the same settlement twice is charged once, and the second is rejected', async () => {
    const { caller, organizationId } = await createAccount(db, { credits: 10 })
    const once = settlement(caller, { credits: 4 })
    expect((await gate.settle(once)).paid).toBe(true)
    const results = await Promise.allSettled([gate.settle(once), otherGate.settle(settlement(caller, { credits: 1 }))])
    expect(results.map((result) => result.status)).toEqual(['rejected', 'fulfilled'])
    expect(await readBooks(db, organizationId)).toMatchObject({ balance: 5, charged: 5, logged: 2 })
  })

  test('a repeated request id pays every time', async () => {
    const { caller, organizationId } = await createAccount(db, { credits: 10 })
    const requestedAtMs = Date.now()
    const same = Array.from({ length: 5 }, () => settlement(caller, { requestId: 'mine_1234', requestedAtMs }))
    await Promise.all(same.map((each) => gate.settle(each)))
    expect(await readBooks(db, organizationId)).toMatchObject({ balance: 5, logged: 5 })
  })

  test('a row that the database refuses fails alone', async () => {
    const { caller, organizationId } = await createAccount(db, { credits: 100 })
    const poisoned = { ...settlement(caller), settlementId: 'a\0b' }
    const batch = [
      settlement(caller),
      poisoned,
      settlement(caller),
      { ...settlement(caller), credits: -5 },
      settlement(caller),
    ]
    const results = await Promise.allSettled(batch.map((each) => gate.settle(each)))
    expect(results.map((result) => result.status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect(await readBooks(db, organizationId)).toMatchObject({ balance: 97, logged: 3 })
    expect(gate.voidsWaiting).toBe(0)
  })

  test('hostile paths and methods are stored as printable text', async () => {
    const { caller, organizationId } = await createAccount(db)
    const path = `/\u001b[31m\0\r\n\u2028\u202e\ud800"\\{}${'x'.repeat(500)}`
    await gate.settle(settlement(caller, { path, method: 'GE\u0000T', status: 404, credits: 0 }))
    const [row] = await db.run<{ path: string; method: string }>(
      'select path, method from request_log_entry where organization_id = $1',
      [organizationId],
    )
    expect(row?.method).toBe('GE?T')
    expect(row?.path).toHaveLength(200)
    expect(row?.path).toStartWith('/?[31m??????"\\{}xxx')
  })

  test('a settlement for an absent organization is not paid', async () => {
    const { caller } = await createAccount(db)
    const settled = await gate.settle(settlement({ ...caller, organizationId: 'org_absent' }))
    expect(settled).toEqual({ paid: false, refusedBy: 'organization', creditsCharged: 0, creditsRemaining: 0n })
  })

  test('admissions and settlements of many organizations through two gates never deadlock', async () => {
    const accounts = await Promise.all(Array.from({ length: 20 }, () => createAccount(db, { credits: 500 })))
    await Promise.all(
      Array.from({ length: 60 }, async (_, worker) => {
        const through = worker % 2 === 0 ? gate : otherGate
        for (let round = 0; round < 12; round++) {
          const account = accounts[(worker * 7 + round * 13) % accounts.length]
          if (account === undefined) throw new Error('No account')
          const { caller, requestedAtMs } = admitted(await admitKey(through, { key: account.key, endpoint: ENDPOINT }))
          await through.settle(settlement(caller, { requestedAtMs, credits: round % 3 }))
        }
      }),
    )
    const books = await Promise.all(accounts.map(({ organizationId }) => readBooks(db, organizationId)))
    expect(books.reduce((sum, each) => sum + each.logged, 0)).toBe(720)
  })
})

test('about a hundred refusals a second are logged, and each is answered', async () => {
  const account = await createAccount(db, { rateLimit: 1 })
  const other = await createAccount(db)
  const requestedAtMs = Math.floor(Date.now() / 1_000) * 1_000
  const metrics = createMetrics()
  const flooded = await createGate({
    db,
    clock: slowClock,
    log: silentLog,
    journalDir: temporaryDirectory(),
    metrics,
  })
  const refused = (caller: Caller, atMs: number) =>
    flooded.settle(settlement(caller, { admitted: false, status: 429, credits: 0, requestedAtMs: atMs }))
  const answers = await Promise.all(Array.from({ length: 500 }, () => refused(account.caller, requestedAtMs + 7)))
  expect(answers).toEqual(answers.map(() => ({ paid: true, creditsCharged: 0, creditsRemaining: 1_000n })))
  expect((await readBooks(db, account.organizationId)).logged).toBe(101)
  expect(metrics.render()).toContain('walletscope_gate_refusals_unlogged_total 399')
  // Neither others, nor what was admitted, nor the next second have to do with it.
  await refused(other.caller, requestedAtMs)
  await flooded.settle(settlement(account.caller, { requestedAtMs }))
  await refused(account.caller, requestedAtMs + 1_000)
  // The database's clock was set back.
  await refused(account.caller, requestedAtMs - 3_600_000)
  expect((await readBooks(db, other.organizationId)).logged).toBe(1)
  expect((await readBooks(db, account.organizationId)).logged).toBe(104)
  await flooded.close(1_000)
})

test('invented keys cost no more than a thousand look-ups a second, and known callers are served among them', async () => {
  const { key } = await createAccount(db)
  let lookedUp = 0
  const counting: Database = {
    ...db,
    run: (text, params, options) => {
      const hashes = params.find((each) => Array.isArray(each) && typeof each[0] === 'string' && each[0].length === 64)
      lookedUp += Array.isArray(hashes) ? hashes.length : 0
      return db.run(text, params, options)
    },
  }
  const metrics = createMetrics()
  const options = { db: counting, clock: slowClock, log: silentLog, journalDir: temporaryDirectory(), metrics }
  const asked = await createGate(options)
  admitted(await admitKey(asked, { key, endpoint: ENDPOINT }))
  const before = lookedUp
  const outcomes = await Promise.allSettled(
    Array.from({ length: 5_000 }, (_, index) =>
      admitKey(asked, { key: index % 100 === 0 ? key : mintKey().key, endpoint: ENDPOINT }),
    ),
  )
  expect(lookedUp - before).toBeLessThanOrEqual(1_000)
  const kinds = outcomes.map((each) => (each.status === 'fulfilled' ? each.value.kind : String(each.reason.message)))
  expect(new Set(kinds)).toEqual(new Set(['admitted', 'unknown_key', 'Too many unknown keys are being tried']))
  expect(kinds.filter((kind) => kind === 'admitted')).toHaveLength(50)
  expect(metrics.render()).toContain('walletscope_gate_lookups_refused_total 3950')
  await asked.close(1_000)
})

test('a process that has just started looks a key up once, however many requests come with it', async () => {
  const { key } = await createAccount(db)
  const started = await createGate({ db, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
  const kinds = await Promise.all(
    Array.from({ length: 3_000 }, async () => (await admitKey(started, { key, endpoint: ENDPOINT })).kind),
  )
  expect(new Set(kinds)).toEqual(new Set(['admitted']))
  await started.close(1_000)
})

test('every change acts with the next request at every gate, despite its cache', async () => {
  const accounts = await Promise.all([1, 2].map(() => createAccount(db)))
  const states = accounts.map(() => ({ suspended: false, revoked: false, off: false }))
  const verb = fc.constantFrom('suspend', 'restore', 'revoke', 'unrevoke', 'off', 'on', 'expire', 'new key')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(verb, fc.nat(1)), { maxLength: 12 }), async (changes) => {
      for (const [what, index] of changes) {
        const [account, state] = [accounts[index], states[index]]
        if (account === undefined || state === undefined) throw new Error('No account')
        const { organizationId: id, apiKeyId } = account
        const off = `GET /v1/off/${id}`
        if (what === 'suspend') await setOrganizationState(otherDb, 'suspend', { id: id, by: CLI_ACTOR })
        if (what === 'restore') await setOrganizationState(otherDb, 'restore', { id: id, by: CLI_ACTOR })
        if (what === 'revoke') await revokeKey(otherDb, { by: CLI_ACTOR, organizationId: id, keyId: apiKeyId })
        if (what === 'unrevoke') {
          await otherDb.run('update api_key set revoked_at = null, expires_at = null where id = $1', [apiKeyId])
        }
        if (what === 'expire') await otherDb.run('update api_key set expires_at = now() where id = $1', [apiKeyId])
        if (what === 'off') await otherDb.run('insert into endpoint_disabled values ($1) on conflict do nothing', [off])
        if (what === 'on') await otherDb.run('delete from endpoint_disabled where endpoint = $1', [off])
        state.suspended = what === 'suspend' || (state.suspended && what !== 'restore')
        state.revoked = ['revoke', 'expire'].includes(what) || (state.revoked && what !== 'unrevoke')
        state.off = what === 'off' || (state.off && what !== 'on')
        const fresh =
          what === 'new key' && !state.suspended
            ? [await createKey(otherDb, { by: CLI_ACTOR, organizationId: id, name: 'fresh' })]
            : []
        const verdicts = await Promise.all(
          accounts.flatMap(({ key, organizationId }) =>
            [gate, otherGate].map((each) => admitKey(each, { key, endpoint: `GET /v1/off/${organizationId}` })),
          ),
        )
        const expected = states.map(({ suspended, revoked, off: isOff }) => {
          if (revoked) return 'unknown_key'
          return suspended ? 'ACCOUNT_SUSPENDED' : isOff ? 'ENDPOINT_DISABLED' : 'admitted'
        })
        expect(verdicts.map((each) => (each.kind === 'refused' ? each.code : each.kind))).toEqual(
          expected.flatMap((each) => [each, each]),
        )
        for (const { key } of fresh) {
          expect(await verdict(key, null)).toBe('admitted')
        }
      }
    }),
    { numRuns: caseCount(25) },
  )
}, 30_000)

test('a key that expires is unknown from that moment on, although it is cached', async () => {
  const { organizationId } = await createAccount(db)
  const expiresAt = new Date(Date.now() + 3_600_000)
  const { key } = await createKey(db, { by: CLI_ACTOR, organizationId, name: 'short', expiresAt })
  // The database's time is what the test says.
  let nowMs = expiresAt.getTime() - 2
  const told: Database = {
    ...db,
    run: async <Row extends object>(...words: Parameters<Database['run']>) =>
      (await db.run<Row>(...words)).map((row) =>
        'requested_at_ms' in row ? { ...row, requested_at_ms: String(nowMs) } : row,
      ),
  }
  const timed = await createGate({ db: told, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
  const seen: string[] = []
  for (; nowMs < expiresAt.getTime() + 2; nowMs++) seen.push((await admitKey(timed, { key, endpoint: null })).kind)
  expect(seen).toEqual(['admitted', 'admitted', 'unknown_key', 'unknown_key'])
  await timed.close(1_000)
})

test('a function that a newer program replaced answers 503, charges nothing, and says so in the log', async () => {
  const { db: alone, close } = await testDatabase()
  const { key } = await createAccount(alone)
  const errors: string[] = []
  const log = { ...silentLog, error: ({ msg }: { msg: string }) => errors.push(msg) }
  const old = await createGate({ db: alone, clock: slowClock, log, journalDir: temporaryDirectory() })
  await alone.run('drop function gate_admit', [])
  expect(await admitKey(old, { key, endpoint: null }).catch((error: unknown) => error)).toBeInstanceOf(UnavailableError)
  expect(errors).toEqual(['The database rejected a batch of admissions'])
  await old.close(1_000)
  await close()
})

test('slow reads of the same process keep no request waiting', async () => {
  const { key } = await createAccount(db)
  const lock = await holdLock(url)
  const slow = Array.from({ length: 8 }, () => db.run(`select ${lock.wait}`, []))
  await lock.untilWaiting()
  const { caller, requestedAtMs } = admitted(await admitKey(gate, { key, endpoint: ENDPOINT }))
  await gate.settle(settlement(caller, { requestedAtMs }))
  await lock.release()
  await Promise.all(slow)
})

test('a closed gate has settled all submitted settlements', async () => {
  const database = openDatabase({ url: (await testDatabase()).url, clock: slowClock, log: silentLog })
  const closing = await createGate({
    db: database,
    clock: slowClock,
    log: silentLog,
    journalDir: temporaryDirectory(),
  })
  const { caller, organizationId } = await createAccount(database)
  const all = Promise.all(Array.from({ length: 50 }, () => closing.settle(settlement(caller))))
  await closing.close(2_000)
  expect(await all).toHaveLength(50)
  expect((await readBooks(database, organizationId)).logged).toBe(50)
  await database.close()
  const late = await admitKey(closing, { key: mintKey().key, endpoint: null }).catch((error: unknown) => error)
  expect(late).toBeInstanceOf(UnavailableError)
})
