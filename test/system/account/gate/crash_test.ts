import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { type AccountGate, createGate } from '../../../../src/account/gate/gate.ts'
import { voidBatch } from '../../../../src/account/gate/settle.ts'
import { retentionJob } from '../../../../src/account/retention.ts'
import { openDatabase } from '../../../../src/db/connection/pool.ts'
import { openSession } from '../../../../src/db/connection/session.ts'
import type { Database } from '../../../../src/db/database.ts'
import { migrate } from '../../../../src/db/migrate.ts'
import type { Settlement, SettlementResult } from '../../../../src/http/exchange/gate.ts'
import type { IdempotencyClaim } from '../../../../src/http/exchange/idempotency.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { eachLine } from '../../../devnet/supervised.ts'
import { type Account, admitKey, createAccount, readBooks, settlement } from '../../../support/account/scene.ts'
import {
  startTestServer,
  type TestDatabase,
  type TestServer,
  temporaryDirectory,
  testDatabase,
} from '../../../support/database.ts'
import { holdLock } from '../../../support/held_lock.ts'
import { waitFor } from '../../../support/wait_for.ts'

describe('a crash', async () => {
  const CRASHES = 3
  const REQUESTS = 60
  const CREDITS = [40, 100_000]
  const RECOVERY_MS = 60_000

  let server: TestServer
  /** The test's own connection. */
  let admin: Database

  beforeAll(async () => {
    server = await startTestServer()
    admin = open(1)
    await migrate(admin)
  }, 120_000)

  afterAll(async () => {
    await admin.close()
    await server.close()
  }, 120_000)

  function open(max?: number): Database {
    const options = { url: server.url, clock: systemClock, log: silentLog }
    return openDatabase(max === undefined ? options : { ...options, max })
  }

  interface Outcome {
    readonly sent: Settlement
    /** Undefined if it was answered that it could not be settled. */
    readonly settled: SettlementResult | undefined
  }

  /** Waits until PostgreSQL has recovered; nothing else takes part in the test until then. */
  async function recover(): Promise<void> {
    const isBack = () =>
      admin.run('select 1', []).then(
        () => true,
        () => false,
      )
    await waitFor('PostgreSQL to be back', isBack, RECOVERY_MS)
  }

  test('books equal the log after kill -9 of a real PostgreSQL, again and again under load', async () => {
    const databases = [open(), open()]
    const gates = await Promise.all(
      databases.map((db) => createGate({ db, clock: systemClock, log: silentLog, journalDir: temporaryDirectory() })),
    )
    const accounts = await Promise.all(CREDITS.map((credits) => createAccount(admin, { credits })))
    const outcomes: Outcome[] = []

    async function send(index: number): Promise<void> {
      const [gate, account] = [gates[index % gates.length], accounts[index % accounts.length]] as const
      if (gate === undefined || account === undefined) return
      const admission = await admitKey(gate, { key: account.key, endpoint: null }).catch(() => undefined)
      if (admission?.kind !== 'admitted') return
      const { caller, requestedAtMs } = admission
      const sent = settlement(caller, { requestedAtMs, credits: 1 + (index % 3) })
      outcomes.push({ sent, settled: await gate.settle(sent).catch(() => undefined) })
    }

    for (let crash = 0; crash < CRASHES; crash++) {
      // The process dies between answers, so that some requests are charged before, some never, and some unknown.
      let answers = 0
      const { promise: midway, resolve } = Promise.withResolvers<void>()
      const requests = Array.from({ length: REQUESTS }, async (_, index) => {
        await (index < REQUESTS / 2 ? send(index) : midway.then(() => send(index)))
        answers++
        if (answers === REQUESTS / 4) resolve()
      })
      await midway
      server.signal('SIGKILL')
      await Promise.all(requests)
      await server.stop()
      await server.start()
      await recover()
    }
    await waitFor('the voids to be done', () => gates.every(({ voidsWaiting }) => voidsWaiting === 0), RECOVERY_MS)

    const rows = await admin.run<{ settlement_id: string; status: number; credits: number }>(
      'select settlement_id, status, credits from request_log_entry where organization_id = any ($1)',
      [accounts.map(({ organizationId }: Account) => organizationId)],
    )
    const logged = rows.map((row) => `${row.settlement_id} ${row.status} ${row.credits}`)
    const expected = outcomes.map(({ sent, settled }) => {
      const row = settled === undefined ? '503 0' : settled.paid ? `200 ${sent.credits}` : '402 0'
      return `${sent.settlementId} ${row}`
    })
    expect(logged.toSorted()).toEqual(expected.toSorted())
    for (const { organizationId } of accounts) await readBooks(admin, organizationId)
    await Promise.all(gates.map((gate) => gate.close(2_000)))
    await Promise.all(databases.map((db) => db.close()))
  }, 180_000)
})

describe('a repeated key', async () => {
  let database: TestDatabase
  let db: Database
  let gate: AccountGate

  beforeAll(async () => {
    database = await testDatabase()
    db = database.db
    gate = await createGate({ db, clock: systemClock, log: silentLog, journalDir: temporaryDirectory() })
  }, 120_000)

  afterAll(async () => {
    await gate.close(2_000)
    await database.close()
  }, 120_000)

  const BODY = '{"data":[],"request_id":"req_1"}'
  const KEPT = { headers: { 'x-as-of': '1:7' }, body: BODY }

  function claim(account: Account, key: string, settlementId: string, hash = 'h'): IdempotencyClaim {
    return { organizationId: account.organizationId, key, hash, settlementId }
  }

  /** Lets a record become older. */
  async function age(account: Account, hours: number): Promise<void> {
    await db.run(
      'update idempotency_record set begun_at = begun_at - make_interval(mins => $2) where organization_id = $1',
      [account.organizationId, hours * 60],
    )
  }

  async function readUse({ organizationId }: Account): Promise<number> {
    const [row] = await db.run<{ bytes: string }>('select bytes from idempotency_use where organization_id = $1', [
      organizationId,
    ])
    return Number(row?.bytes ?? 0)
  }

  test('the first request has the key, others are busy until its answer is stored with its charge', async () => {
    const account = await createAccount(db)
    const first = settlement(account.caller, { credits: 5 })
    expect(await gate.claim(claim(account, 'k', first.settlementId))).toEqual({ kind: 'claimed' })
    expect(await gate.claim(claim(account, 'k', 'second'))).toEqual({ kind: 'busy' })
    expect(await gate.claim(claim(account, 'k', 'third', 'other'))).toEqual({ kind: 'other' })
    expect(await gate.settle(first, KEPT)).toMatchObject({ paid: true, creditsCharged: 5, creditsRemaining: 995n })
    expect(await gate.claim(claim(account, 'k', 'fourth'))).toEqual({ kind: 'answered', kept: KEPT })
    expect(await gate.claim(claim(account, 'k', 'fifth', 'other'))).toEqual({ kind: 'other' })
    const stranger = await createAccount(db)
    expect(await gate.claim(claim(stranger, 'k', 'sixth'))).toEqual({ kind: 'claimed' })
    expect(await readBooks(db, account.organizationId)).toMatchObject({ balance: 995, logged: 1 })
  })

  test('a claim is answered while all connections of usage logs and planes are taken', async () => {
    const account = await createAccount(db)
    const { wait, release } = await holdLock(database.url)
    const slow = Array.from({ length: 8 }, () => db.run(`select ${wait}`, [], { lane: 'read', deadlineMs: 10_000 }))
    const first = settlement(account.caller)
    // Neither returns before the lock is released if it needs one of those connections.
    await gate.claim(claim(account, 'k', first.settlementId))
    await gate.release(first.settlementId)
    await release()
    await Promise.all(slow)
  })

  test('a key is free again a day after its first use, and not before', async () => {
    const account = await createAccount(db)
    const first = settlement(account.caller)
    await gate.claim(claim(account, 'k', first.settlementId))
    await gate.settle(first, KEPT)
    await age(account, 23.9)
    expect(await gate.claim(claim(account, 'k', 'later'))).toMatchObject({ kind: 'answered' })
    await age(account, 0.2)
    const next = settlement(account.caller)
    expect(await gate.claim(claim(account, 'k', next.settlementId, 'new'))).toEqual({ kind: 'claimed' })
    expect((await gate.settle(next, { headers: {}, body: 'new' })).paid).toBe(true)
    expect(await gate.claim(claim(account, 'k', 'last', 'new'))).toMatchObject({ kept: { body: 'new' } })
  })

  test('a request that takes over a dead claim is charged, and the late one is not', async () => {
    const account = await createAccount(db)
    const dead = settlement(account.caller, { credits: 2 })
    const next = settlement(account.caller, { credits: 2 })
    await gate.claim(claim(account, 'k', dead.settlementId))
    await age(account, 1)
    expect(await gate.claim(claim(account, 'k', next.settlementId))).toEqual({ kind: 'claimed' })
    const bystander = await createAccount(db)
    const beside = settlement(bystander.caller, { credits: 1 })
    await gate.claim(claim(bystander, 'k', beside.settlementId))
    // In one batch with others, it alone is refused.
    const [late, other, taken] = await Promise.all([
      gate.settle(dead, { headers: {}, body: 'late' }),
      gate.settle(beside, KEPT),
      gate.settle(next, KEPT),
    ])
    expect(late).toMatchObject({ paid: false, isSuperseded: true, creditsCharged: 0 })
    expect([other.paid, taken.paid]).toEqual([true, true])
    expect(await gate.claim(claim(account, 'k', 'last'))).toEqual({ kind: 'answered', kept: KEPT })
    expect(await readBooks(db, account.organizationId)).toMatchObject({ charged: 2, statuses: { 200: 1, 409: 1 } })
  })

  test('a request that cannot be paid, or gives up, frees its key and keeps nothing', async () => {
    const account = await createAccount(db, { credits: 3 })
    const dear = settlement(account.caller, { credits: 4 })
    await gate.claim(claim(account, 'k', dear.settlementId))
    expect(await gate.settle(dear, KEPT)).toMatchObject({ paid: false, refusedBy: 'organization' })
    expect(await readUse(account)).toBe(0)
    expect(await gate.claim(claim(account, 'k', 'second'))).toEqual({ kind: 'claimed' })
    await gate.release('second')
    const third = settlement(account.caller, { credits: 3 })
    expect(await gate.claim(claim(account, 'k', third.settlementId))).toEqual({ kind: 'claimed' })
    expect((await gate.settle(third, KEPT)).paid).toBe(true)
    await gate.release(third.settlementId)
    expect(await gate.claim(claim(account, 'k', 'fourth'))).toMatchObject({ kind: 'answered' })
  })

  test('a voided settlement frees its key: written before or arriving later, its answer is never replayed', async () => {
    const account = await createAccount(db)
    const written = settlement(account.caller, { credits: 5 })
    await gate.claim(claim(account, 'written', written.settlementId))
    await gate.settle(written, KEPT)
    const late = settlement(account.caller, { credits: 5 })
    await gate.claim(claim(account, 'late', late.settlementId))
    await voidBatch(db, [written, late])
    await expect(gate.settle(late, KEPT)).rejects.toBeInstanceOf(UnavailableError)
    await waitFor('all is settled', () => gate.voidsWaiting === 0)
    for (const key of ['written', 'late']) {
      expect(await gate.claim(claim(account, key, `again ${key}`))).toEqual({ kind: 'claimed' })
    }
    expect(await readBooks(db, account.organizationId)).toMatchObject({ balance: 1_000, charged: 0 })
  }, 120_000)

  test('an answer that is too large is charged once and not replayed', async () => {
    const account = await createAccount(db)
    const large = settlement(account.caller)
    await gate.claim(claim(account, 'k', large.settlementId))
    expect((await gate.settle(large, { headers: {}, body: 'x'.repeat(1024 * 1024 + 1) })).paid).toBe(true)
    expect(await gate.claim(claim(account, 'k', 'second'))).toEqual({ kind: 'answered', kept: undefined })
    expect(await readUse(account)).toBeLessThan(1_000)
  })

  test('an organization with too many stored answers gets no more keys until old ones expire', async () => {
    const account = await createAccount(db)
    const old = settlement(account.caller)
    const young = settlement(account.caller)
    await gate.claim(claim(account, 'old', old.settlementId))
    await gate.settle(old, { headers: {}, body: 'x'.repeat(10_000) })
    await age(account, 25)
    await gate.claim(claim(account, 'young', young.settlementId))
    await gate.settle(young, KEPT)
    const used = await readUse(account)
    expect(used).toBeGreaterThan(10_000)
    await db.run('update idempotency_use set bytes = 268435456 where organization_id = $1', [account.organizationId])
    expect(await gate.claim(claim(account, 'new', 'new'))).toEqual({ kind: 'full' })
    expect(await gate.claim(claim(account, 'young', 'again'))).toMatchObject({ kind: 'answered' })
    await retentionJob({ db, log: silentLog, days: 0 }).round(new AbortController().signal)
    expect(await readUse(account)).toBeLessThan(used - 10_000)
    expect(await gate.claim(claim(account, 'new', 'new'))).toEqual({ kind: 'claimed' })
    expect(await gate.claim(claim(account, 'young', 'again'))).toMatchObject({ kind: 'answered' })
  }, 120_000)

  /** Of these names, those whose connections wait for a lock. */
  async function countWaiting(names: readonly string[]): Promise<number> {
    const rows = await db.run(
      `select distinct application_name from pg_stat_activity
     where application_name = any ($1) and wait_event_type = 'Lock' and datname = current_database()`,
      [names],
    )
    return rows.length
  }

  /** A process of its own, see `idempotency_child.ts`; its connections have its name. */
  async function startChild(name: string) {
    const program = join(import.meta.dir, 'idempotency_child.ts')
    const url = `${database.url}${database.url.includes('?') ? '&' : '?'}application_name=${name}`
    const child = Bun.spawn([process.execPath, program, url, temporaryDirectory(), name], {
      stdin: 'pipe',
      stdout: 'pipe',
      stderr: 'inherit',
    })
    const waiting: ((line: string) => void)[] = []
    const next = () => new Promise<string>((resolve) => waiting.push(resolve))
    const ready = next()
    void eachLine(child.stdout, (line) => waiting.shift()?.(line))
    await ready
    return {
      async ask(
        order: object,
      ): Promise<readonly { readonly kind: string; readonly kept?: { readonly body: string } }[]> {
        const answer = next()
        child.stdin.write(
          `${JSON.stringify(order, (_, value) => (typeof value === 'bigint' ? String(value) : value))}\n`,
        )
        await child.stdin.flush()
        return JSON.parse(await answer)
      },
      async stop(): Promise<void> {
        child.kill()
        await child.exited
      },
    }
  }

  test('of two processes with the same concurrent requests, one answers and charges each key', async () => {
    const account = await createAccount(db, { credits: 100_000 })
    const names = ['claimer_a', 'claimer_b']
    const processes = await Promise.all(names.map(startChild))
    const holder = await openSession({ url: database.url, applicationName: 'holder', clock: systemClock })
    const keys = Array.from({ length: 300 }, (_, index) => `key${index}`)
    const order = { keys, caller: account.caller }
    await holder.run('begin', [])
    await holder.run('lock table idempotency_record in exclusive mode', [])
    const asked = Promise.all(processes.map((each) => each.ask(order)))
    await waitFor('both to claim the first keys', async () => (await countWaiting(names)) === names.length)
    await holder.run('commit', [])
    const rounds = await asked
    for (const [index, key] of keys.entries()) {
      const told = rounds.flatMap((round) => round[index] ?? [])
      expect({ key, made: told.filter(({ kind }) => kind === 'made').length }).toEqual({ key, made: 1 })
      expect(told.every(({ kind }) => ['made', 'busy', 'answered'].includes(kind))).toBe(true)
    }
    const again = await Promise.all(processes.map((each) => each.ask(order)))
    const bodies = again.map((round) => round.map(({ kept }) => kept?.body))
    expect(bodies[1]).toEqual(bodies[0] ?? [])
    const made = rounds.flatMap((round) =>
      round.flatMap(({ kind, kept }) => (kind === 'made' ? (kept?.body ?? []) : [])),
    )
    expect(new Set(bodies[0])).toEqual(new Set(made))
    const { charged, logged } = await readBooks(db, account.organizationId)
    expect({ charged, logged }).toEqual({ charged: 3 * keys.length, logged: keys.length })
    await holder.close()
    await Promise.all(processes.map((each) => each.stop()))
  }, 120_000)
})
