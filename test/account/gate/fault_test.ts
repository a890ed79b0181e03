import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { type AccountGate, createGate } from '../../../src/account/gate/gate.ts'
import { settleBatch, voidBatch } from '../../../src/account/gate/settle.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { type Database, SqlError } from '../../../src/db/database.ts'
import { migrate } from '../../../src/db/migrate.ts'
import type { Settlement, SettlementResult } from '../../../src/http/exchange/gate.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { caseCount } from '../../support/cases.ts'
import { startTestServer, type TestServer, temporaryDirectory, testDatabase } from '../../support/database.ts'
import { settlesBefore, waitFor } from '../../support/wait_for.ts'
import { admitKey, admitted, createAccount, readBooks, settlement } from '../scene.ts'
import { startKeeper } from './keeper.ts'

/** Short, to keep the tests short. */
const DEADLINE_MS = 250
/** After this time a dead process's journal is adopted. */
const LEASE_MS = 500

let server: TestServer
/** The test's own connection. */
let admin: Database

beforeAll(async () => {
  server = await startTestServer()
  const migrating = open()
  await migrate(migrating)
  await migrating.close()
  // One connection, so that its process is known.
  admin = openDatabase({ url: server.url, clock: systemClock, log: silentLog, max: 1 })
}, 30_000)

afterAll(async () => {
  await admin.close()
  await server.close()
}, 60_000)

function open(): Database {
  return openDatabase({ url: server.url, clock: systemClock, log: silentLog })
}

interface Instance {
  readonly db: Database
  readonly gate: AccountGate
  readonly journalDir: string
  close(): Promise<void>
}

async function instance(journalDir = temporaryDirectory(), deadlineMs = DEADLINE_MS): Promise<Instance> {
  const db = open()
  const gate = await createGate({ db, clock: systemClock, log: silentLog, journalDir, deadlineMs, leaseMs: LEASE_MS })
  return {
    db,
    gate,
    journalDir,
    async close() {
      await gate.close(2_000)
      await db.close()
    },
  }
}

/** Backends of our connections, except that of `admin`. */
async function backends(): Promise<readonly number[]> {
  const rows = await admin.run<{ pid: number }>(
    `select pid from pg_stat_activity
     where backend_type = 'client backend' and application_name = 'walletscope' and pid <> pg_backend_pid()`,
    [],
  )
  return rows.map((row) => row.pid)
}

async function readRow(settlementId: string): Promise<{ status: number; credits: number } | undefined> {
  const [row] = await admin.run<{ status: number; credits: number }>(
    'select status, credits from request_log where settlement_id = $1',
    [settlementId],
  )
  return row
}

function journalText(directory: string): string {
  return readdirSync(directory)
    .map((name) => readFileSync(join(directory, name), 'utf8'))
    .join('')
}

test('a settlement that reaches the database only after its void finds its place taken and charges nothing', async () => {
  const { gate, journalDir, close } = await instance()
  const { caller, organizationId } = await createAccount(admin, { credits: 100 })
  await gate.settle(settlement(caller))
  const before = new Set(await backends())
  for (const pid of before) process.kill(pid, 'SIGSTOP')
  const late = settlement(caller, { credits: 7 })
  try {
    const failure = await gate.settle(late).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(UnavailableError)
    await waitFor('the void is done', () => gate.voidsWaiting === 0)
    expect(await readRow(late.settlementId)).toEqual({ status: 503, credits: 0 })
  } finally {
    for (const pid of before) process.kill(pid, 'SIGCONT')
  }
  // The frozen backends now run what they were sent, and end.
  await waitFor('the old backends are gone', async () => !(await backends()).some((pid) => before.has(pid)))
  expect(await readRow(late.settlementId)).toEqual({ status: 503, credits: 0 })
  expect(await readBooks(admin, organizationId)).toMatchObject({ balance: 99, statuses: { 200: 1, 503: 1 } })
  expect(journalText(journalDir)).toBe('')
  await close()
}, 15_000)

/** Waits until so many statements have what they hold while they sleep. */
async function untilHeld(count: number): Promise<void> {
  const sleeping = "select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'"
  await waitFor('the holders to sleep', async () => (await admin.run(sleeping, [])).length === count)
}

test('a settlement that commits after its deadline is undone by its void', async () => {
  const { gate, close } = await instance()
  const { caller, organizationId } = await createAccount(admin, { credits: 100 })
  const holder = open()
  // Holds the balance past the deadline, but not until the server cancels the statement itself.
  const held = holder.run(
    `select pg_sleep(0.8) from (select from spending_limit where organization_id = $1 for update) b`,
    [organizationId],
  )
  await untilHeld(1)
  const late = settlement(caller, { credits: 7 })
  const failure = await gate.settle(late).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(UnavailableError)
  await held
  await waitFor('the void is done', () => gate.voidsWaiting === 0)
  expect(await readRow(late.settlementId)).toEqual({ status: 503, credits: 0 })
  expect(await readBooks(admin, organizationId)).toMatchObject({ balance: 100, statuses: { 503: 1 } })
  await holder.close()
  await close()
}, 15_000)

test('a void of a charged request gives back its credits once, however often it is sent', async () => {
  const { db, gate, close } = await instance()
  const { caller, organizationId } = await createAccount(admin, { credits: 100 })
  await gate.settle(settlement(caller))
  const done = settlement(caller, { credits: 7 })
  await gate.settle(done)
  expect(await readRow(done.settlementId)).toEqual({ status: 200, credits: 7 })
  expect(await voidBatch(db, [done])).toEqual([])
  expect(await voidBatch(db, [done])).toEqual([])
  expect(await readBooks(admin, organizationId)).toMatchObject({ balance: 99, statuses: { 200: 1, 503: 1 } })
  await close()
})

test('a settlement of two statements still ends by its deadline, and its late charge is undone', async () => {
  const deadlineMs = 1_000
  const { gate, close } = await instance(temporaryDirectory(), deadlineMs)
  const { caller, organizationId } = await createAccount(admin, { credits: 6 })
  await gate.settle(settlement(caller))
  const holders = [open(), open()] as const
  // Connects before anything is timed.
  await Promise.all(holders.map((holder) => holder.run('select 1', [])))
  const hold = { lane: 'background', deadlineMs: 10_000 } as const
  // Its first statement waits for the number of a new path and finds too few credits, its second one for the balance.
  const held = [
    holders[0].run("select pg_advisory_xact_lock(hashtext('request_log_numbers')), pg_sleep(0.7)", [], hold),
    holders[1].run(
      'select pg_sleep(3) from (select from spending_limit where organization_id = $1 for update) b',
      [organizationId],
      hold,
    ),
  ]
  await untilHeld(held.length)
  const late = settlement({ ...caller, credits: 1_000_000n }, { credits: 7, path: `/v1/new/${organizationId}` })
  const settling = gate.settle(late).catch((error: unknown) => error)
  // With a deadline of its own, the second statement would end after 1,600 ms.
  expect(await settlesBefore(deadlineMs + 400, settling)).toBe(true)
  expect(await settling).toBeInstanceOf(UnavailableError)
  await Promise.all(held)
  await waitFor('the void is done', () => gate.voidsWaiting === 0)
  expect(await readRow(late.settlementId)).toEqual({ status: 503, credits: 0 })
  expect(await readBooks(admin, organizationId)).toMatchObject({ balance: 5, granted: 6, statuses: { 200: 1, 503: 1 } })
  await Promise.all(holders.map((holder) => holder.close()))
  await close()
}, 15_000)

test('a settlement that outlasts the closing of its gate leaves its void on the disk', async () => {
  const { gate, db, journalDir } = await instance()
  const { caller, organizationId } = await createAccount(admin, { credits: 100 })
  await gate.settle(settlement(caller))
  const before = await backends()
  for (const pid of before) process.kill(pid, 'SIGSTOP')
  const late = settlement(caller, { credits: 7 })
  try {
    const settling = gate.settle(late).catch((error: unknown) => error)
    await gate.close(20)
    expect(await settling).toBeInstanceOf(UnavailableError)
    expect(journalText(journalDir)).toContain(late.settlementId)
  } finally {
    for (const pid of before) kill(pid, 'SIGCONT')
  }
  await db.close()
  await waitFor('the late charge is there', async () => (await readRow(late.settlementId)) !== undefined)
  const next = await instance(journalDir)
  await waitFor('the void is done', async () => (await readRow(late.settlementId))?.status === 503)
  expect(await readBooks(admin, organizationId)).toMatchObject({ balance: 99, statuses: { 200: 1, 503: 1 } })
  await next.close()
}, 15_000)

test('while the database is away, answers are 503, and every one is logged as 503 when it is back', async () => {
  const { gate, journalDir, close } = await instance()
  const { caller, organizationId, key } = await createAccount(admin, { credits: 100 })
  await gate.settle(settlement(caller))
  await server.stop()
  const lost = Array.from({ length: 30 }, () => settlement(caller, { credits: 2 }))
  const results = await Promise.allSettled(lost.map((each) => gate.settle(each)))
  expect(results.every((result) => result.status === 'rejected' && result.reason instanceof UnavailableError)).toBe(
    true,
  )
  const refusal = await admitKey(gate, { key, endpoint: null }).catch((error: unknown) => error)
  expect(refusal).toBeInstanceOf(UnavailableError)
  expect(gate.voidsWaiting).toBe(30)
  expect(journalText(journalDir).trim().split('\n')).toHaveLength(30)
  await server.start()
  await waitFor('an admission passes', async () => {
    const admission = await admitKey(gate, { key, endpoint: null }).catch(() => undefined)
    return admission?.kind === 'admitted'
  })
  await waitFor('the voids are done', () => gate.voidsWaiting === 0)
  expect(await readBooks(admin, organizationId)).toMatchObject({ balance: 99, statuses: { 200: 1, 503: 30 } })
  await close()
  expect(readdirSync(journalDir)).toEqual([])
}, 30_000)

test('the journal of a killed process is adopted by the next, and reading it twice does no harm', async () => {
  const journalDir = temporaryDirectory()
  const { caller, organizationId } = await createAccount(admin, { credits: 100 })
  const { gate, close } = await instance()
  const charged = settlement(caller, { credits: 30 })
  await gate.settle(charged)
  const never = settlement(caller, { credits: 5 })
  const [row] = await admin.run<{ id: string }>('select id::text as id from ledger', [])
  const keeper = await startKeeper({ directory: journalDir, ledger: row?.id ?? '' })
  await keeper.append([charged, never])
  await keeper.kill()
  // A line that the crash cut short belongs to an answer that never left.
  const [name = ''] = readdirSync(journalDir)
  const whole = readFileSync(join(journalDir, name), 'utf8')
  expect(whole.trim().split('\n')).toHaveLength(2)
  writeFileSync(join(journalDir, name), `${whole}{"settlementId":"cut sho`)

  const next = await instance(journalDir)
  await waitFor('the voids are done', async () => (await readRow(never.settlementId)) !== undefined)
  expect(await readRow(charged.settlementId)).toEqual({ status: 503, credits: 0 })
  expect(await readRow(never.settlementId)).toEqual({ status: 503, credits: 0 })
  expect(await readBooks(admin, organizationId)).toMatchObject({ balance: 100, statuses: { 503: 2 } })
  await next.close()
  expect(readdirSync(journalDir)).toEqual([])
  await close()
}, 15_000)

test('a void for one database never reaches another, and waits until its own is back', async () => {
  const journalDir = temporaryDirectory()
  const { caller, organizationId } = await createAccount(admin, { credits: 100 })
  const first = await instance(temporaryDirectory(), 1_500)
  const charged = settlement(caller, { credits: 30 })
  await first.gate.settle(charged)
  await first.close()
  const [row] = await admin.run<{ id: string }>('select id::text as id from ledger', [])
  const keeper = await startKeeper({ directory: journalDir, ledger: row?.id ?? '' })
  await keeper.append([charged])
  await keeper.kill()
  const left = journalText(journalDir)

  const elsewhere = await testDatabase()
  const warnings: string[] = []
  const log = { ...silentLog, warn: ({ msg }: { msg: string }) => warnings.push(msg) }
  const other = await createGate({ db: elsewhere.db, clock: systemClock, log, journalDir, leaseMs: LEASE_MS })
  const account = await createAccount(elsewhere.db)
  await other.settle(settlement(account.caller))
  await Bun.sleep(3 * LEASE_MS)
  expect(journalText(journalDir)).toBe(left)
  expect(warnings).toEqual(['Ignored journals of another database'])
  expect(await elsewhere.db.run('select from request_log where status = 503', [])).toEqual([])
  await other.close(2_000)
  await elsewhere.close()

  const back = await instance(journalDir)
  await waitFor('the void is done', async () => (await readRow(charged.settlementId))?.status === 503)
  expect(await readBooks(admin, organizationId)).toMatchObject({ balance: 100, statuses: { 503: 1 } })
  await back.close()
  expect(readdirSync(journalDir)).toEqual([])
}, 30_000)

test('after a crash of PostgreSQL the limit still holds over the second before it', async () => {
  const { gate, close } = await instance(temporaryDirectory(), 1_500)
  const kinds: string[] = []
  // Only a crash that is over within the second shows anything; on a busy machine it may take longer.
  for (let crashes = 0; kinds.length === 0 && crashes < 5; crashes++) {
    const { key } = await createAccount(admin, { rateLimit: 4 })
    const firstMs = performance.now()
    let firstAtMs = Number.POSITIVE_INFINITY
    for (let count = 0; count < 4; count++) {
      const { caller, requestedAtMs } = admitted(await admitKey(gate, { key, endpoint: null }))
      firstAtMs = Math.min(firstAtMs, requestedAtMs)
      await gate.settle(settlement(caller, { requestedAtMs }))
    }
    const [victim = 0] = await backends()
    process.kill(victim, 'SIGKILL')
    await waitFor('the crash is over and the window is gone', async () => {
      const [row] = await admin.run<{ count: string }>('select count(*) from rate_window', []).catch(() => [])
      return row?.count === '0'
    })
    while (performance.now() - firstMs < 950) {
      const told = await admitKey(gate, { key, endpoint: null }).catch(() => undefined)
      // The database may come to it only in the next second; times are cut to milliseconds.
      if (told !== undefined && told.kind !== 'unknown_key' && told.requestedAtMs - firstAtMs < 999) {
        kinds.push(told.kind === 'refused' ? told.code : told.kind)
      }
      await Bun.sleep(10)
    }
    await waitFor('the gate admits again', async () => {
      const other = await createAccount(admin).catch(() => undefined)
      return (
        other !== undefined &&
        (await admitKey(gate, { key: other.key, endpoint: null }).catch(() => undefined)) !== undefined
      )
    })
  }
  expect(kinds.length).toBeGreaterThan(0)
  expect(new Set(kinds)).toEqual(new Set(['RATE_LIMIT_EXCEEDED']))
  await close()
}, 60_000)

test('settlements and voids in any order, and repeated, leave the balance of a plain ledger', async () => {
  const { db, close } = await instance()
  const costs = [1, 2, 3, 4, 5, 6]
  const operation = fc.record({ verb: fc.constantFrom('settle', 'settle', 'void'), index: fc.nat(costs.length - 1) })
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 14 }), async (operations) => {
      const { caller, organizationId } = await createAccount(admin, { credits: 10 })
      const requests = costs.map((credits) => settlement(caller, { credits }))
      const ledger = new Map<number, number>()
      const left = () => costs.reduce((rest, cost, index) => (ledger.get(index) === 200 ? rest - cost : rest), 10)
      for (const { verb, index } of operations) {
        const [request, cost] = [requests[index] as Settlement, costs[index] ?? 0]
        if (verb === 'void') {
          expect(await voidBatch(db, [request])).toEqual([])
          ledger.set(index, 503)
          continue
        }
        const [outcome] = await settleBatch(db, [request])
        if (ledger.has(index)) {
          expect(outcome).toBeInstanceOf(SqlError)
          continue
        }
        const paid = cost <= left()
        ledger.set(index, paid ? 200 : 402)
        const charge = { creditsCharged: paid ? cost : 0, creditsRemaining: BigInt(left()) }
        expect(outcome).toEqual({ paid, ...(paid ? {} : { refusedBy: 'organization' }), ...charge })
      }
      const counts: Record<string, number> = {}
      for (const status of ledger.values()) counts[status] = (counts[status] ?? 0) + 1
      expect(await readBooks(admin, organizationId)).toMatchObject({ balance: left(), statuses: counts })
    }),
    { numRuns: caseCount(60) },
  )
  await close()
}, 20_000)

test('under load, crashes, frozen and lost backends cost no caller a credit, and every answer is in the log', async () => {
  const instances = await Promise.all([instance(), instance()])
  const accounts = await Promise.all([40, 300, 100_000].map((credits) => createAccount(admin, { credits })))
  const outcomes = new Map<string, { settlement: Settlement; settled: SettlementResult | undefined }>()
  let stop = false
  const work = Array.from({ length: 24 }, async (_, worker) => {
    const { gate } = instances[worker % 2] ?? (instances[0] as Instance)
    for (let round = 0; !stop; round++) {
      const account = accounts[(worker + round) % accounts.length] ?? (accounts[0] as (typeof accounts)[0])
      const admission = await admitKey(gate, { key: account.key, endpoint: null }).catch(() => undefined)
      if (admission?.kind !== 'admitted') {
        await Bun.sleep(5)
        continue
      }
      const made = settlement(admission.caller, { requestedAtMs: admission.requestedAtMs, credits: 1 + (round % 3) })
      const settled = await gate.settle(made).catch((error: unknown) => {
        if (!(error instanceof UnavailableError)) throw error
        return undefined
      })
      outcomes.set(made.settlementId, { settlement: made, settled })
    }
  })
  for (let fault = 0; fault < 9; fault++) {
    await Bun.sleep(150)
    const pids = await backends().catch(() => [])
    if (fault % 3 === 0) {
      for (const pid of pids) kill(pid, 'SIGSTOP')
      await Bun.sleep(DEADLINE_MS + 100)
      for (const pid of pids) kill(pid, 'SIGCONT')
    } else if (fault % 3 === 1) {
      await admin.run('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [[...pids]]).catch(() => {})
    } else {
      kill(pids[0] ?? 0, 'SIGKILL')
    }
  }
  await Bun.sleep(200)
  stop = true
  await Promise.all(work)
  await waitFor('the voids are done', () => instances.every(({ gate }) => gate.voidsWaiting === 0), 10_000)
  await waitFor('the server is quiet', () =>
    readBooks(admin, accounts[0]?.organizationId ?? '').then(
      () => true,
      () => false,
    ),
  )

  const rows = await admin.run<{ settlement_id: string; status: number; credits: number }>(
    'select settlement_id, status, credits from request_log_entry where organization_id = any ($1)',
    [accounts.map((account) => account.organizationId)],
  )
  const byId = new Map(rows.map((row) => [row.settlement_id, row]))
  const wrong = [...outcomes.values()].filter(({ settlement: { settlementId, credits }, settled }) => {
    const row = byId.get(settlementId)
    const expected = settled === undefined ? [503, 0] : settled.paid ? [200, credits] : [402, 0]
    return row?.status !== expected[0] || Number(row?.credits) !== expected[1]
  })
  expect(wrong).toEqual([])
  expect(byId.size).toBe(outcomes.size)
  const failed = [...outcomes.values()].filter(({ settled }) => settled === undefined)
  expect(failed.length).toBeGreaterThan(0)
  for (const { organizationId } of accounts) await readBooks(admin, organizationId)
  await Promise.all(instances.map(({ close }) => close()))
}, 60_000)

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    if (pid > 0) process.kill(pid, signal)
  } catch {
    // It ended by itself meanwhile.
  }
}
