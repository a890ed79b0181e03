import { afterAll, beforeAll, expect, test } from 'bun:test'
import { idempotencyForget } from '../../../../sql/queries.ts'
import { createGate } from '../../../../src/account/gate/gate.ts'
import { claimKey } from '../../../../src/account/gate/idempotency.ts'
import { settleBatch, settleChange, settleIdempotent, voidBatch } from '../../../../src/account/gate/settle.ts'
import { openSession } from '../../../../src/db/connection/session.ts'
import type { Database } from '../../../../src/db/database.ts'
import { UnknownOutcomeError } from '../../../../src/http/exchange/gate.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createLog, silentLog } from '../../../../src/lib/log.ts'
import { type Account, createAccount, readBooks, settlement } from '../../../support/account/scene.ts'
import { type TestDatabase, temporaryDirectory, testDatabase } from '../../../support/database.ts'
import { waitForLockWaits } from '../../../support/lock_waits.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { addMany, createWebhook } from '../../../support/trigger/deliver/scene.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'
import { waitFor } from '../../../support/wait_for.ts'

let database: TestDatabase
let db: Database
/** Sessions: one holds locks, the other waits for them. */
let holder: Database
let waiter: Database

beforeAll(async () => {
  database = await testDatabase()
  db = database.db
  const open = () => openSession({ url: database.url, applicationName: 'session', clock: slowClock })
  ;[holder, waiter] = await Promise.all([open(), open()])
}, 60_000)
afterAll(async () => {
  await Promise.all([holder.close(), waiter.close()])
  await database.close()
}, 60_000)

const WEBHOOK = { url: 'https://example.org/', name: '', most: 20 }

function toChange(account: Account, kind: string, details: Readonly<Record<string, unknown>>, credits = 0) {
  return {
    settlement: settlement(account.caller, { credits, isChange: true }),
    change: { kind, details },
    isKept: false,
  }
}

/** While another holds what `lock` locks, tells whether the balance can be locked beside the waiting work. */
async function waitsWithoutBalance({ organizationId }: Account, lock: string, work: () => Promise<unknown>) {
  await holder.run('begin', [])
  await holder.run(lock, [organizationId])
  const working = work()
  await waitForLockWaits(db)
  const balance = `select from spending_limit where organization_id = $1 for update nowait`
  const isFree = await db.run(balance, [organizationId]).then(
    () => true,
    () => false,
  )
  await holder.run('commit', [])
  await working
  return isFree
}

test('a change waits for states of triggers and for messages before it locks the balance', async () => {
  const account = await createAccount(db)
  const { organizationId, apiKeyId } = account
  const { id } = await createTrigger(db, { organizationId, apiKeyId, chainId: 1 })
  const state = 'select from watch_state where organization_id = $1 for update'
  for (const kind of ['trigger_update', 'trigger_delete']) {
    const change = toChange(account, kind, { id, name: 'New' })
    expect(await waitsWithoutBalance(account, state, () => settleChange(waiter, change))).toBe(true)
  }
  expect(await db.run('select from watch where organization_id = $1', [organizationId])).toEqual([])
  const webhookId = await createWebhook(db, organizationId, WEBHOOK.url)
  await addMany(db, { organizationId, webhookId, count: 3 })
  await db.run(`update message set due_at = null, outcome = 'dead' where organization_id = $1`, [organizationId])
  const range = { from: '2020-01-01T00:00:00Z', to: '2999-01-01T00:00:00Z', most: 10 }
  const change = toChange(account, 'webhook_redeliver', { id: webhookId, ...range })
  const messages = 'select from message where organization_id = $1 for update'
  expect(await waitsWithoutBalance(account, messages, () => settleChange(waiter, change))).toBe(true)
  expect(
    await db.run('select from message where organization_id = $1 and outcome is null', [organizationId]),
  ).toHaveLength(3)
})

test('a change that is made before its charge may cost nothing', async () => {
  const account = await createAccount(db, { credits: 1 })
  const webhookId = await createWebhook(db, account.organizationId, WEBHOOK.url)
  const dear = toChange(account, 'webhook_redeliver', { id: webhookId, ids: [], most: 1 }, 2)
  await expect(settleChange(db, dear)).rejects.toMatchObject({ message: expect.stringContaining('before its charge') })
  expect(await readBooks(db, account.organizationId)).toMatchObject({ balance: 1, logged: 0 })
})

test('a void leaves a change that was committed, and ends one that was not; its key follows', async () => {
  const account = await createAccount(db)
  const { organizationId } = account
  const [made, never, other] = ['whk_made', 'whk_never', 'whk_other'].map((id) => ({
    ...toChange(account, 'webhook_create', { id, ...WEBHOOK }, 3),
    isKept: true,
  }))
  if (made === undefined || never === undefined || other === undefined) throw new Error('Expected three')
  const claim = (key: string, settlementId: string) => claimKey(db, { organizationId, key, hash: 'h', settlementId })
  await claim('made', made.settlement.settlementId)
  await claim('never', never.settlement.settlementId)
  expect(await settleChange(db, made)).toMatchObject({ paid: true, creditsCharged: 3, result: { id: 'whk_made' } })
  expect(await settleChange(db, made)).toMatchObject({ code: 'WS409' })
  const read = settlement(account.caller, { credits: 7 })
  for (let times = 0; times < 2; times++) {
    expect(await voidBatch(db, [made.settlement, read, never.settlement])).toEqual([])
  }
  // A late original, with its key and without, makes nothing any more.
  expect(await settleChange(db, never)).toMatchObject({ code: 'WS409' })
  expect(await settleChange(db, { ...never, isKept: false })).toMatchObject({ code: '23505' })
  expect(await claim('made', 'second')).toMatchObject({ kind: 'changed', result: { id: 'whk_made' } })
  expect(await claim('never', 'third')).toEqual({ kind: 'claimed' })
  const webhooks = await db.run('select id from webhook where organization_id = $1', [organizationId])
  expect(webhooks).toEqual([{ id: 'whk_made' }])
  expect(await readBooks(db, organizationId)).toMatchObject({ charged: 3, statuses: { 200: 1, 503: 2 } })
})

test('a void that meets a change under way waits for it, and leaves it', async () => {
  for (const isKept of [true, false]) {
    const account = await createAccount(db)
    const { organizationId } = account
    const change = { ...toChange(account, 'webhook_create', { id: 'whk_meeting', ...WEBHOOK }, 3), isKept }
    const { settlementId } = change.settlement
    if (isKept) await claimKey(db, { organizationId, key: 'k', hash: 'h', settlementId })
    await holder.run('begin', [])
    expect(await settleChange(holder, change)).toMatchObject({ paid: true })
    const voiding = voidBatch(waiter, [change.settlement])
    await waitForLockWaits(db)
    await holder.run('commit', [])
    expect(await voiding).toEqual([])
    expect(await readBooks(db, organizationId)).toMatchObject({ charged: 3, statuses: { 200: 1 } })
    expect(await db.run('select from webhook where organization_id = $1', [organizationId])).toHaveLength(1)
  }
})

test('a void waits for a change that has its key but not the balance yet, and leaves it', async () => {
  const account = await createAccount(db)
  const { organizationId, apiKeyId } = account
  const { id } = await createTrigger(db, { organizationId, apiKeyId, chainId: 1 })
  const change = { ...toChange(account, 'trigger_update', { id, name: 'New' }, 3), isKept: true }
  await claimKey(db, { organizationId, key: 'k', hash: 'h', settlementId: change.settlement.settlementId })
  await holder.run('begin', [])
  await holder.run('select from watch_state where organization_id = $1 for update', [organizationId])
  const settling = settleChange(db, change)
  await waitForLockWaits(db)
  const voiding = voidBatch(waiter, [change.settlement])
  await waitForLockWaits(db, 2)
  await holder.run('commit', [])
  expect(await settling).toMatchObject({ paid: true, creditsCharged: 3 })
  expect(await voiding).toEqual([])
  expect(await readBooks(db, organizationId)).toMatchObject({ charged: 3, statuses: { 200: 1 } })
})

test('a void refunds settlements of several organizations that were under way', async () => {
  const accounts = await Promise.all([createAccount(db), createAccount(db)])
  accounts.sort((a, b) => (a.organizationId < b.organizationId ? -1 : 1))
  const reads = accounts.map(({ caller }) => settlement(caller, { credits: 5 }))
  // Their names have numbers in the log, which a settlement under way would hold.
  await settleBatch(
    db,
    accounts.map(({ caller }) => settlement(caller, { credits: 0 })),
  )
  await holder.run('begin', [])
  // Of the last one, whose balance the void locks after the first.
  await settleBatch(holder, reads.slice(1))
  const voiding = voidBatch(waiter, reads)
  await waitForLockWaits(db)
  await holder.run('commit', [])
  expect(await voiding).toEqual([])
  for (const { organizationId } of accounts) {
    expect(await readBooks(db, organizationId)).toMatchObject({ balance: 1_000, statuses: { 200: 1, 503: 1 } })
  }
})

test('a change that cannot be paid is not made, and frees its key', async () => {
  const account = await createAccount(db, { credits: 2 })
  const { organizationId } = account
  const dear = { ...toChange(account, 'webhook_create', { id: 'whk_dear', ...WEBHOOK }, 3), isKept: true }
  const claim = (settlementId: string) => claimKey(db, { organizationId, key: 'k', hash: 'h', settlementId })
  await claim(dear.settlement.settlementId)
  expect(await settleChange(db, dear)).toMatchObject({ paid: false, creditsRemaining: 2n, result: undefined })
  expect(await db.run('select from webhook where organization_id = $1', [organizationId])).toEqual([])
  expect(await claim('richer')).toEqual({ kind: 'claimed' })
})

test('an answer whose charge will be voided is not replayed once its request gave up its key', async () => {
  let voided = () => {}
  const held = new Promise<void>((resolve) => {
    voided = resolve
  })
  const losing: Database = {
    ...db,
    async run(text, params, options) {
      if (text.includes('gate_void_batch(')) await held
      const rows = await db.run<never>(text, params, options)
      if (text.includes('gate_settle_batch_idempotent(')) throw new UnavailableError('The database does not answer')
      return rows
    },
  }
  const gate = await createGate({ db: losing, clock: slowClock, log: silentLog, journalDir: temporaryDirectory() })
  const { organizationId, caller } = await createAccount(db)
  const first = settlement(caller, { credits: 5 })
  const claim = (settlementId: string) => gate.claim({ organizationId, key: 'k', hash: 'h', settlementId })
  await claim(first.settlementId)
  await expect(gate.settle(first, { headers: {}, body: 'dear' })).rejects.toBeInstanceOf(UnknownOutcomeError)
  // Without a word of a void it keeps its answer.
  await gate.release(first.settlementId)
  expect(await claim('again')).toMatchObject({ kind: 'answered' })
  await gate.release(first.settlementId, { isVoided: true })
  expect(await claim('later')).toEqual({ kind: 'claimed' })
  voided()
  await waitFor('the void', () => gate.voidsWaiting === 0)
  expect(await readBooks(db, organizationId)).toMatchObject({ balance: 1_000, charged: 0 })
  await gate.close(2_000)
})

test('keys that cannot be released fill no log', async () => {
  const lines: string[] = []
  const log = createLog({ level: 'info', write: (line) => void lines.push(line), clock: systemClock })
  const failing: Database = {
    ...db,
    run: (text, params, options) =>
      text.includes('delete from idempotency_record')
        ? Promise.reject(new UnavailableError('The database does not answer'))
        : db.run(text, params, options),
  }
  const gate = await createGate({ db: failing, clock: slowClock, log, journalDir: temporaryDirectory() })
  await Promise.all(Array.from({ length: 500 }, (_, index) => gate.release(`s${index}`)))
  expect(lines.filter((line) => line.includes('Failed to release'))).toHaveLength(1)
  await gate.close(2_000)
})

test('sizes of stored answers are counted anew in the order in which settlements lock them', async () => {
  const accounts = await Promise.all([createAccount(db), createAccount(db)])
  const [low, high] = accounts.toSorted((a, b) => (a.organizationId < b.organizationId ? -1 : 1))
  if (low === undefined || high === undefined) throw new Error('Expected two')
  const claimAndSettle = async () => {
    const batch = [high, low].map(({ caller }) => ({
      settlement: settlement(caller),
      answer: { headers: {}, body: 'x' },
    }))
    for (const { settlement: each } of batch) {
      const { settlementId, caller } = each
      await claimKey(db, { organizationId: caller.organizationId, key: settlementId, hash: 'h', settlementId })
    }
    return batch
  }
  // The rows are in the other order on their page, and their sizes are wrong.
  await settleIdempotent(db, [(await claimAndSettle())[0] ?? []].flat())
  await settleIdempotent(db, [(await claimAndSettle())[1] ?? []].flat())
  await db.run('update idempotency_use set bytes = 1', [])
  const works = [
    () => idempotencyForget(waiter, {}),
    async () => expect(await settleIdempotent(waiter, await claimAndSettle())).toHaveLength(2),
  ]
  for (const work of works) {
    await holder.run('begin', [])
    await holder.run('select from idempotency_use where organization_id = $1 for update', [low.organizationId])
    const working = work()
    await waitForLockWaits(db)
    const other = 'select from idempotency_use where organization_id = $1 for update nowait'
    expect(await holder.run(other, [high.organizationId])).toHaveLength(1)
    await holder.run('commit', [])
    await working
  }
})
