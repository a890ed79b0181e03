import { beforeAll, expect, test } from 'bun:test'
import type { Database } from '../../../src/db/database.ts'
import {
  acquirePartition,
  type BlockCommit,
  chargeHour,
  commitBlock,
  notifyBlindTriggers,
  type PartitionLease,
  type TriggerChange,
  type TriggerPartition,
} from '../../../src/trigger/evaluate/partition.ts'
import type { Trigger, TriggerState } from '../../../src/trigger/trigger.ts'
import { type Account, createAccount, readBooks } from '../../account/scene.ts'
import { testDatabase } from '../../support/database.ts'
import { ARMED, createTrigger, editTrigger } from '../scene.ts'

const HASHES = ['11', '22', '33', '44'].map((byte) => `0x${byte.repeat(32)}`)
let db: Database
let lines = 0

beforeAll(async () => {
  db = (await testDatabase()).db
}, 60_000)

interface Scene {
  readonly account: Account
  readonly partition: TriggerPartition
  readonly lease: PartitionLease
  readonly trigger: Trigger
}

/** An organization with one trigger on a line of its own. */
async function scene(options: { credits?: number; webhookId?: string; createdAt?: Date } = {}): Promise<Scene> {
  const { credits = 100, ...others } = options
  const account = await createAccount(db, { credits })
  const { organizationId, apiKeyId } = account.caller
  const line: TriggerPartition = {
    chainId: 900_000 + lines++,
    chainName: 'Test',
    finality: 'latest',
    shard: 0,
    blindAfterSec: 60,
    leaseSec: 15,
  }
  if (options.webhookId !== undefined) {
    await db.run('insert into webhook (organization_id, id, url, name) values ($1, $2, $3, $2)', [
      organizationId,
      options.webhookId,
      'https://example.org/',
    ])
  }
  const trigger = await createTrigger(db, { organizationId, apiKeyId, chainId: line.chainId, ...others })
  const tenure = await acquirePartition(db, line, 'me')
  if (tenure === undefined) throw new Error('Expected the line')
  return { account, partition: line, lease: tenure, trigger }
}

function fired(trigger: Trigger, before: TriggerState = ARMED): TriggerChange {
  const change = before.changes + 1
  const type = 'trigger.fired' as const
  const body = JSON.stringify({ type, timestamp: 'now', text: 'It fired.', data: { change } })
  const after = { ...before, phase: 'fired' as const, changes: change, value: '1.04', since: 10n }
  return {
    trigger,
    before,
    after,
    messages: [{ change, type, body }],
    notified: [{ change, block: 10n, name: 'fired' }],
    reverted: [],
  }
}

function commitOf({ partition: line, lease: tenure }: Scene, options: Partial<BlockCommit> = {}): BlockCommit {
  const block = { number: 10n, hash: HASHES[0] ?? '', timestampSec: 1_700_000_000n }
  const nowMs = Date.now()
  return {
    partition: line,
    lease: tenure,
    block,
    fork: null,
    final: 0n,
    families: ['aave-v3'],
    nowMs,
    changes: [],
    ...options,
  }
}

async function messagesOf({ account }: Scene) {
  return await db.run<{ type: string; no: string; change: string | null; webhook_id: string | null; due: boolean }>(
    `select type, no, change, webhook_id, due_at is not null as due from message where organization_id = $1 order by no`,
    [account.caller.organizationId],
  )
}

async function textsOf({ account }: Scene): Promise<readonly string[]> {
  const rows = await db.run<{ text: string }>(
    `select body::jsonb ->> 'text' as text from message where organization_id = $1 order by no`,
    [account.caller.organizationId],
  )
  return rows.map(({ text }) => text)
}

async function stateOf({ trigger }: Scene) {
  const [row] = await db.run<{ phase: string; changes: string; paused_for: string | null }>(
    'select s.phase, s.changes, w.paused_for from watch_state s join watch w using (organization_id, id) where s.id = $1',
    [trigger.id],
  )
  return row
}

const books = ({ account }: Scene) => readBooks(db, account.caller.organizationId)

test('commitBlock makes a change, its message and its charge, and nothing of it twice', async () => {
  const made = await scene({ webhookId: 'whk_1' })
  const commit = commitOf(made, { changes: [fired(made.trigger)] })
  expect(await commitBlock(db, commit)).toEqual([])
  // The same again: the line is at that block.
  expect(await commitBlock(db, commit)).toBeUndefined()
  // And at the next block, by a process that does not know of the change.
  const at = { number: 10n, hash: HASHES[0] ?? '', timestampSec: 1_700_000_000n }
  const next = { number: 11n, hash: HASHES[1] ?? '', timestampSec: 1_700_000_012n }
  const again = commitOf(made, { lease: { ...made.lease, at }, block: next, changes: [fired(made.trigger)] })
  expect(await commitBlock(db, again)).toHaveLength(1)
  expect(await messagesOf(made)).toEqual([
    { type: 'trigger.fired', no: '1', change: '1', webhook_id: 'whk_1', due: true },
  ])
  expect(await stateOf(made)).toEqual({ phase: 'fired', changes: '1', paused_for: null })
  expect(await books(made)).toMatchObject({ charged: 2, balance: 98, logged: 1, statuses: { '200': 1 } })
})

test('commitBlock commits nothing for who lost the lease', async () => {
  const made = await scene()
  await db.run('update watch_cursor set lease_until = now() where chain_id = $1', [made.partition.chainId])
  expect(await acquirePartition(db, made.partition, 'other')).toEqual({ epoch: '2', at: null })
  expect(await acquirePartition(db, made.partition, 'me')).toBeUndefined()
  expect(await commitBlock(db, commitOf(made, { changes: [fired(made.trigger)] }))).toBeUndefined()
  expect(await messagesOf(made)).toEqual([])
  expect(await books(made)).toMatchObject({ charged: 0, logged: 0 })
})

test('commitBlock leaves a trigger alone that was edited or deleted meanwhile', async () => {
  const made = await scene()
  const { organizationId, apiKeyId } = made.account.caller
  const kept = await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  const deleted = await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  await editTrigger(db, made.trigger, '1.2')
  await db.run('delete from watch where id = $1', [deleted.id])
  const changes = [fired(made.trigger), fired(kept), fired(deleted)]
  expect(await commitBlock(db, commitOf(made, { changes }))).toEqual([changes[0], changes[2]] as TriggerChange[])
  expect(await messagesOf(made)).toHaveLength(1)
  expect(await books(made)).toMatchObject({ charged: 2 })
})

test('commitBlock pauses the triggers of who cannot pay for a change, and says so once', async () => {
  const made = await scene({ credits: 3 })
  const { organizationId, apiKeyId } = made.account.caller
  const second = await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  const changes = [fired(made.trigger), fired(second)]
  expect(await commitBlock(db, commitOf(made, { changes }))).toEqual([changes[1]] as TriggerChange[])
  expect((await messagesOf(made)).map(({ type, no }) => [type, no])).toEqual([
    ['trigger.paused', '1'],
    ['trigger.fired', '2'],
  ])
  expect((await textsOf(made))[0]).toBe(
    '2 triggers are paused for want of credits, until the first hour that can be paid.',
  )
  expect(await stateOf(made)).toMatchObject({ phase: 'fired', paused_for: 'credits' })
  expect(await books(made)).toMatchObject({ charged: 2, balance: 1, statuses: { '200': 1, '402': 1 } })
})

test('commitBlock counts what triggers of a key cost for the day of the key, and does not stop them for it', async () => {
  const made = await scene()
  await db.run('update api_key set credits_per_day = 1 where organization_id = $1', [
    made.account.caller.organizationId,
  ])
  expect(await commitBlock(db, commitOf(made, { changes: [fired(made.trigger)] }))).toEqual([])
  expect(await books(made)).toMatchObject({ charged: 2 })
})

test('chargeHour charges each hour once, from the second hour of a trigger on', async () => {
  const hour = Math.floor(Date.now() / 3_600_000)
  const made = await scene({ createdAt: new Date((hour - 1) * 3_600_000 - 1) })
  const { organizationId, apiKeyId } = made.account.caller
  await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  while ((await chargeHour(db, hour, 2)) > 0) {}
  expect(await books(made)).toMatchObject({ charged: 1, logged: 1 })
  expect(await chargeHour(db, hour, 100)).toBe(0)
  await Promise.all([chargeHour(db, hour + 1, 100), chargeHour(db, hour + 1, 100)])
  expect(await books(made)).toMatchObject({ charged: 2, logged: 2 })
})

test('chargeHour pauses triggers that cannot be paid, says so once, and resumes them when they can', async () => {
  const hour = Math.floor(Date.now() / 3_600_000) + 10
  const made = await scene({ credits: 1, createdAt: new Date((hour - 30) * 3_600_000) })
  const { organizationId, apiKeyId } = made.account.caller
  const createdAt = new Date((hour - 30) * 3_600_000)
  await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId, createdAt })
  await chargeHour(db, hour, 100)
  await chargeHour(db, hour + 1, 100)
  expect((await messagesOf(made)).map(({ type, due }) => [type, due])).toEqual([['trigger.paused', false]])
  expect(await stateOf(made)).toMatchObject({ paused_for: 'credits' })
  expect(await books(made)).toMatchObject({ charged: 0, statuses: { '402': 1 } })
  await db.run('update spending_limit set most = most + 5 where organization_id = $1', [organizationId])
  await db.run("insert into credit_grant (organization_id, id, credits, reason) values ($1, 'g2', 5, 'More')", [
    organizationId,
  ])
  await chargeHour(db, hour + 2, 100)
  expect(await stateOf(made)).toMatchObject({ paused_for: null })
  expect(await books(made)).toMatchObject({ charged: 2 })
})

test('chargeHour resumes a trigger that paused within its first hour', async () => {
  const hour = Math.floor(Date.now() / 3_600_000) + 20
  const made = await scene({ credits: 1, createdAt: new Date(hour * 3_600_000 - 60_000) })
  await commitBlock(db, commitOf(made, { changes: [fired(made.trigger)] }))
  expect(await stateOf(made)).toMatchObject({ paused_for: 'credits' })
  await chargeHour(db, hour, 100)
  expect(await stateOf(made)).toMatchObject({ paused_for: null })
  expect(await books(made)).toMatchObject({ charged: 1, balance: 0 })
})

test('tellBlind tells each webhook once, and the first commit that sees again says so once', async () => {
  const made = await scene({ webhookId: 'whk_1', createdAt: new Date(Date.now() - 61_000) })
  const { organizationId, apiKeyId } = made.account.caller
  // Too young to be blind; and another line.
  await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId, family: 'kamino' })
  expect(await notifyBlindTriggers(db, made.partition, made.lease)).toBe(1)
  expect(await notifyBlindTriggers(db, made.partition, made.lease)).toBe(0)
  // Other families do not help.
  const first = commitOf(made, { families: ['kamino'] })
  await commitBlock(db, first)
  expect((await messagesOf(made)).map(({ type }) => type)).toEqual(['trigger.blind'])
  const tenure = { ...made.lease, at: first.block }
  const next = { number: 11n, hash: HASHES[1] ?? '', timestampSec: 1_700_000_012n }
  await commitBlock(db, commitOf(made, { lease: tenure, block: next }))
  await commitBlock(db, commitOf(made, { lease: { ...tenure, at: next }, block: { ...next, number: 12n } }))
  expect((await messagesOf(made)).map(({ type, due }) => [type, due])).toEqual([
    ['trigger.blind', true],
    ['trigger.sighted', true],
  ])
  expect((await textsOf(made)).map((text) => text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, 'then'))).toEqual([
    '1 trigger on Test could not be evaluated since then UTC.',
    'Triggers on Test are evaluated again from block 11 on, but changes since then UTC that undid themselves were not seen.',
  ])
  expect(await notifyBlindTriggers(db, made.partition, made.lease)).toBe(0)
})
