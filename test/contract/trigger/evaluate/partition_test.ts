import { beforeAll, expect, test } from 'bun:test'
import type { Database } from '../../../../src/db/database.ts'
import {
  acquirePartition,
  type BlockCommit,
  chargeHour,
  commitBlock,
  notifyBlindTriggers,
  type PartitionLease,
  type TriggerChange,
  type TriggerPartition,
} from '../../../../src/trigger/evaluate/partition.ts'
import { listEvaluatedBlocks } from '../../../../src/trigger/evaluate/watchlist.ts'
import type { Trigger, TriggerState } from '../../../../src/trigger/trigger.ts'
import { type Account, createAccount, readBooks } from '../../../support/account/scene.ts'
import { testDatabase } from '../../../support/database.ts'
import { ARMED, chargeHourAt, createTrigger, editTrigger } from '../../../support/trigger/scene.ts'

const HASHES = ['11', '22', '33', '44'].map((byte) => `0x${byte.repeat(32)}`)
const NONE_LEFT = { failed: [], refused: [] }
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
  const tenure = await acquirePartition(db, line, { holder: 'me' })
  if (tenure === undefined) throw new Error('Expected the line')
  return { account, partition: line, lease: tenure, trigger }
}

function fired(trigger: Trigger, before: TriggerState = ARMED): TriggerChange {
  const change = before.changes + 1
  const type = 'trigger.fired' as const
  const body = JSON.stringify({ type, timestamp: '', text: 'It fired.', data: { change } })
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
  return {
    partition: line,
    lease: tenure,
    block,
    fork: null,
    final: 0n,
    families: ['aave-v3'],
    changes: [],
    ...options,
  }
}

async function listMessages({ account }: Scene) {
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
  expect(await commitBlock(db, commit)).toEqual(NONE_LEFT)
  // The same again: the line is at that block.
  expect(await commitBlock(db, commit)).toBeUndefined()
  // And at the next block, by a process that does not know of the change.
  const at = { number: 10n, hash: HASHES[0] ?? '', timestampSec: 1_700_000_000n }
  const next = { number: 11n, hash: HASHES[1] ?? '', timestampSec: 1_700_000_012n }
  const again = commitOf(made, { lease: { ...made.lease, at }, block: next, changes: [fired(made.trigger)] })
  expect((await commitBlock(db, again))?.failed).toHaveLength(1)
  expect(await listMessages(made)).toEqual([
    { type: 'trigger.fired', no: '1', change: '1', webhook_id: 'whk_1', due: true },
  ])
  expect(await stateOf(made)).toEqual({ phase: 'fired', changes: '1', paused_for: null })
  expect(await books(made)).toMatchObject({ charged: 2, balance: 98, logged: 1, statuses: { '200': 1 } })
})

test('commitBlock dates messages and charges by the clock of the database', async () => {
  const made = await scene()
  const dates = async () => {
    const [row] = await db.run<{ now: Date }>('select now()', [])
    return row?.now.toISOString() ?? ''
  }
  const before = await dates()
  await commitBlock(db, commitOf(made, { changes: [fired(made.trigger)] }))
  const after = await dates()
  const { organizationId } = made.account.caller
  const rows = await db.run<{ timestamp: string; text: string }>(
    "select body::jsonb ->> 'timestamp' as timestamp, body::jsonb ->> 'text' as text from message where organization_id = $1",
    [organizationId],
  )
  const charges = await db.run<{ requested_at: Date }>(
    'select requested_at from request_log_entry where organization_id = $1',
    [organizationId],
  )
  expect(rows.map(({ text }) => text)).toEqual(['It fired.'])
  for (const date of [
    ...rows.map((each) => each.timestamp),
    ...charges.map((each) => each.requested_at.toISOString()),
  ]) {
    expect(date >= before && date <= after).toBe(true)
  }
})

test('commitBlock commits nothing for who lost the lease', async () => {
  const made = await scene()
  await db.run('update watch_cursor set lease_until = now() where chain_id = $1', [made.partition.chainId])
  expect(await acquirePartition(db, made.partition, { holder: 'other' })).toEqual({ epoch: '2', at: null })
  expect(await acquirePartition(db, made.partition, { holder: 'me' })).toBeUndefined()
  expect(await commitBlock(db, commitOf(made, { changes: [fired(made.trigger)] }))).toBeUndefined()
  expect(await listMessages(made)).toEqual([])
  expect(await books(made)).toMatchObject({ charged: 0, logged: 0 })
})

test('a lease that is offered stays with its holder until another takes it, a patient one last', async () => {
  const { partition } = await scene()
  const offered = { ...partition, leaseSec: 0 }
  const acquire = (holder: string, patienceSec = 0) => acquirePartition(db, partition, { holder, patienceSec })
  const pass = (sec: number) =>
    db.run('update watch_cursor set lease_until = lease_until - make_interval(secs => $2) where chain_id = $1', [
      partition.chainId,
      sec,
    ])
  expect(await acquire('other')).toBeUndefined()
  expect(await acquirePartition(db, offered, { holder: 'me' })).toEqual({ epoch: '1', at: null })
  expect(await acquire('other', 15)).toBeUndefined()
  await pass(10)
  // A repeated offer begins no new wait.
  expect(await acquirePartition(db, offered, { holder: 'me' })).toEqual({ epoch: '1', at: null })
  expect(await acquire('other', 15)).toBeUndefined()
  await pass(5)
  expect(await acquire('other', 15)).toEqual({ epoch: '2', at: null })
  expect(await acquirePartition(db, offered, { holder: 'other' })).toEqual({ epoch: '2', at: null })
  expect(await acquire('third')).toEqual({ epoch: '3', at: null })
})

test('commitBlock leaves a trigger alone that was edited, deleted or paused meanwhile', async () => {
  const made = await scene()
  const { organizationId, apiKeyId } = made.account.caller
  const kept = await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  const deleted = await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  await editTrigger(db, made.trigger, '1.2')
  const paused = await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  await db.run('delete from watch where id = $1', [deleted.id])
  await db.run("update watch set paused_for = 'credits' where id = $1", [paused.id])
  const changes = [fired(made.trigger), fired(kept), fired(deleted), fired(paused)]
  expect((await commitBlock(db, commitOf(made, { changes })))?.failed).toEqual([
    changes[0],
    changes[2],
    changes[3],
  ] as TriggerChange[])
  expect(await listMessages(made)).toHaveLength(1)
  expect(await books(made)).toMatchObject({ charged: 2 })
})

test('commitBlock leaves out the one change that the database can never store', async () => {
  const made = await scene()
  const { organizationId, apiKeyId } = made.account.caller
  const others: Trigger[] = []
  for (let index = 0; index < 6; index++) {
    others.push(await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId }))
  }
  const [edited = made.trigger] = others
  await editTrigger(db, edited, '1.2')
  const poison = fired(made.trigger)
  const changes = [
    ...others.slice(0, 4).map((each) => fired(each)),
    poison,
    ...others.slice(4).map((each) => fired(each)),
  ]
  const unstorable = { ...poison, after: { ...poison.after, value: 'not\0text' } }
  const sent = changes.map((each) => (each === poison ? unstorable : each))
  expect(await commitBlock(db, commitOf(made, { changes: sent }))).toEqual({
    failed: [changes[0]] as TriggerChange[],
    refused: [unstorable],
  })
  expect(await listMessages(made)).toHaveLength(5)
  expect(await books(made)).toMatchObject({ charged: 10 })
  expect(await stateOf(made)).toMatchObject({ phase: 'armed' })
  const at = (await acquirePartition(db, made.partition, { holder: 'me' }))?.at
  expect(at?.number).toBe(10n)
})

test('commitBlock pauses the triggers of who cannot pay for a change, and says so once', async () => {
  const made = await scene({ credits: 3 })
  const { organizationId, apiKeyId } = made.account.caller
  const second = await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  const stopped = await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  await db.run("update watch set paused_for = 'owner' where id = $1", [stopped.id])
  const changes = [fired(made.trigger), fired(second)]
  expect((await commitBlock(db, commitOf(made, { changes })))?.failed).toEqual([changes[1]] as TriggerChange[])
  expect((await listMessages(made)).map(({ type, no }) => [type, no])).toEqual([
    ['trigger.paused', '1'],
    ['trigger.fired', '2'],
  ])
  expect((await textsOf(made))[0]).toBe(
    '2 triggers are paused for want of credits, until the first hour that can be paid.',
  )
  expect(await stateOf(made)).toMatchObject({ phase: 'fired', paused_for: 'credits' })
  // It does not go on with credits.
  expect(await stateOf({ ...made, trigger: stopped })).toMatchObject({ paused_for: 'owner' })
  expect(await books(made)).toMatchObject({ charged: 2, balance: 1, statuses: { '200': 1, '402': 1 } })
})

test('commitBlock fails the change that cannot be paid, beside one that costs nothing and one that is paid', async () => {
  const made = await scene({ credits: 3 })
  const { organizationId, apiKeyId } = made.account.caller
  const create = () => createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  const quiet = { ...fired(made.trigger), messages: [] }
  const [paid, unpaid] = [fired(await create()), fired(await create())]
  const outcome = await commitBlock(db, commitOf(made, { changes: [quiet, paid, unpaid] }))
  expect(outcome).toEqual({ failed: [unpaid], refused: [] })
  expect(await books(made)).toMatchObject({ charged: 2, statuses: { '200': 1, '402': 1 } })
})

test('commitBlock forgets replaced blocks from the first one on, if it goes on at a later one', async () => {
  const made = await scene()
  const [first, second, third] = [10n, 11n, 13n].map((number, index) => ({
    number,
    hash: HASHES[index] ?? '',
    timestampSec: 1_700_000_000n + number,
  }))
  if (first === undefined || second === undefined || third === undefined) throw new Error('Expected three')
  const commitAt = (block: typeof first, at: typeof first | null, fork: bigint | null) =>
    commitBlock(db, commitOf(made, { lease: { ...made.lease, at }, block, fork }))
  await commitAt(first, null, null)
  await commitAt(second, first, null)
  await commitAt(third, second, 11n)
  expect([...(await listEvaluatedBlocks(db, made.partition)).keys()].sort()).toEqual([10n, 13n])
})

test('commitBlock counts what triggers of a key cost for the day of the key, and does not stop them for it', async () => {
  const made = await scene()
  await db.run('update api_key set credits_per_day = 1 where organization_id = $1', [
    made.account.caller.organizationId,
  ])
  expect(await commitBlock(db, commitOf(made, { changes: [fired(made.trigger)] }))).toEqual(NONE_LEFT)
  expect(await books(made)).toMatchObject({ charged: 2 })
})

const HOUR_MS = 3_600_000
/** The last full hour. */
const fullHour = () => Math.floor(Date.now() / HOUR_MS)

/** Sets columns of a trigger as a statement of a route does. */
async function setTrigger({ trigger }: Scene, columns: string): Promise<void> {
  await db.run(`update watch set ${columns} where organization_id = $1 and id = $2`, [
    trigger.organizationId,
    trigger.id,
  ])
}

async function grant({ account: { caller } }: Scene, credits: number): Promise<void> {
  await db.run('update spending_limit set most = most + $2 where organization_id = $1', [
    caller.organizationId,
    credits,
  ])
  await db.run(
    "insert into credit_grant (organization_id, id, credits, reason) values ($1, gen_random_uuid()::text, $2, 'More')",
    [caller.organizationId, credits],
  )
}

test('chargeHour charges each hour once, from the second hour of a trigger on', async () => {
  const hour = fullHour()
  const made = await scene({ createdAt: new Date((hour - 1) * HOUR_MS - 1) })
  const { organizationId, apiKeyId } = made.account.caller
  await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId })
  while ((await chargeHourAt(db, hour, 2)) > 0) {}
  expect(await books(made)).toMatchObject({ charged: 1, logged: 1 })
  expect(await chargeHourAt(db, hour, 100)).toBe(0)
  await Promise.all([chargeHourAt(db, hour + 1, 100), chargeHourAt(db, hour + 1, 100)])
  expect(await books(made)).toMatchObject({ charged: 2, logged: 2 })
  // Another server's clock is a little behind.
  expect(await chargeHourAt(db, hour, 100)).toBe(0)
})

test('chargeHour pauses triggers that cannot be paid, says so once, and resumes them when they can', async () => {
  const hour = fullHour() + 10
  const createdAt = new Date((hour - 30) * HOUR_MS)
  const made = await scene({ credits: 1, createdAt })
  const { organizationId, apiKeyId } = made.account.caller
  await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId, createdAt })
  await chargeHourAt(db, hour, 100)
  await chargeHourAt(db, hour + 1, 100)
  expect((await listMessages(made)).map(({ type, due }) => [type, due])).toEqual([['trigger.paused', false]])
  expect(await stateOf(made)).toMatchObject({ paused_for: 'credits' })
  expect(await books(made)).toMatchObject({ charged: 0, statuses: { '402': 1 } })
  await grant(made, 5)
  await chargeHourAt(db, hour + 2, 100)
  expect(await stateOf(made)).toMatchObject({ paused_for: null })
  expect(await books(made)).toMatchObject({ charged: 2 })
})

test('chargeHour resumes a trigger that paused within its first hour', async () => {
  const hour = fullHour() + 20
  const made = await scene({ credits: 1, createdAt: new Date(hour * HOUR_MS - 60_000) })
  await commitBlock(db, commitOf(made, { changes: [fired(made.trigger)] }))
  expect(await stateOf(made)).toMatchObject({ paused_for: 'credits' })
  await chargeHourAt(db, hour, 100)
  expect(await stateOf(made)).toMatchObject({ paused_for: null })
  expect(await books(made)).toMatchObject({ charged: 1, balance: 0 })
})

test('chargeHour takes the hour of the database, and an hour to come of a wrong clock holds up nothing', async () => {
  const made = await scene({ credits: 1, createdAt: new Date((fullHour() - 5) * HOUR_MS) })
  const { organizationId } = made.account.caller
  const readHoursAhead = async () => {
    const [row] = await db.run<{ ahead: number }>(
      `select (hour - floor(extract(epoch from now()) / 3600))::integer as ahead from watch_hour
       where organization_id = $1`,
      [organizationId],
    )
    return row?.ahead ?? Number.NaN
  }
  // As an earlier release does whose clock is a month ahead.
  const chargeAhead = () =>
    db.run<{ count: number }>('select trigger_hour($1::bigint, 500) as count', [fullHour() + 720])
  while (((await chargeAhead())[0]?.count ?? 0) > 0) {}
  expect(await readHoursAhead()).toBeLessThanOrEqual(0)
  expect(await books(made)).toMatchObject({ charged: 1, logged: 1 })

  await setTrigger(made, "paused_for = 'credits'")
  await db.run('update watch_hour set hour = hour + 720 where organization_id = $1', [organizationId])
  await grant(made, 10)
  while (await chargeHour(db)) {}
  expect(await readHoursAhead()).toBeLessThanOrEqual(0)
  expect(await stateOf(made)).toMatchObject({ paused_for: null })
  expect(await books(made)).toMatchObject({ charged: 2 })
})

test('chargeHour charges active triggers beside others that are paused for want of credits', async () => {
  const hour = fullHour() + 10
  const createdAt = new Date((hour - 30) * HOUR_MS)
  const made = await scene({ credits: 5, createdAt })
  const { organizationId, apiKeyId } = made.account.caller
  for (let no = 0; no < 9; no++) {
    await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId, createdAt })
  }
  await db.run("update watch set paused_for = 'credits' where organization_id = $1", [organizationId])
  for (let no = 0; no < 2; no++) {
    await createTrigger(db, { organizationId, apiKeyId, chainId: made.partition.chainId, createdAt })
  }
  const countActive = async () => {
    const [row] = await db.run<{ count: number }>(
      'select count(*)::integer as count from watch where organization_id = $1 and paused_for is null',
      [organizationId],
    )
    return row?.count
  }
  for (const [no, charged] of [2, 4].entries()) {
    await chargeHourAt(db, hour + no, 100)
    expect(await books(made)).toMatchObject({ charged })
    expect(await countActive()).toBe(2)
  }
  await chargeHourAt(db, hour + 2, 100)
  expect(await countActive()).toBe(0)
  // Enough for all: both the active and the paused ones.
  await grant(made, 40)
  await chargeHourAt(db, hour + 3, 100)
  expect(await countActive()).toBe(12)
  expect(await books(made)).toMatchObject({ charged: 16 })
})

test('a begun hour is charged if its trigger pauses over the full hour, or stays paused, or is deleted', async () => {
  const hour = fullHour() + 1
  const scenes = await Promise.all([0, 1, 2, 3].map(() => scene({ createdAt: new Date(Date.now() - HOUR_MS) })))
  const [resumed, paused, deleted, young] = scenes
  if (resumed === undefined || paused === undefined || deleted === undefined || young === undefined) throw new Error()
  // Ten minutes of the second hour are used, except of one.
  for (const each of [resumed, paused, deleted]) await setTrigger(each, "paid_until = now() - interval '10 minutes'")
  await setTrigger(young, "paid_until = now() + interval '10 minutes'")
  for (const each of scenes) await setTrigger(each, "paused_for = 'owner'")
  await setTrigger(resumed, 'paused_for = null')
  for (const { trigger } of [deleted, young]) await db.run('delete from watch where id = $1', [trigger.id])
  for (const each of [hour, hour + 1]) while ((await chargeHourAt(db, each, 100)) > 0) {}
  // The resumed one used a second hour.
  expect((await Promise.all(scenes.map(books))).map(({ charged }) => charged)).toEqual([2, 1, 1, 0])
})

test('the time that a trigger is paused, expired or suspended is not charged', async () => {
  const scenes = await Promise.all([0, 1, 2].map(() => scene({ createdAt: new Date(Date.now() - 5 * HOUR_MS) })))
  const [paused, expired, suspended] = scenes
  if (paused === undefined || expired === undefined || suspended === undefined) throw new Error()
  // Each had twenty paid minutes left five hours ago.
  const left = "paid_until = now() - interval '5 hours' + interval '20 minutes'"
  await setTrigger(paused, `${left}, paused_for = 'owner'`)
  await setTrigger(paused, "idle_at = now() - interval '5 hours'")
  await setTrigger(expired, left)
  await setTrigger(expired, "expires_at = now() - interval '5 hours', idle_at = null")
  await setTrigger(suspended, left)
  const organization = (columns: string) =>
    db.run(`update organization set ${columns} where id = $1`, [suspended.account.caller.organizationId])
  await organization("suspended_at = now() - interval '5 hours'")
  // A change meanwhile, and then each goes on.
  await setTrigger(expired, "paused_for = 'owner'")
  await setTrigger(expired, 'paused_for = null, expires_at = null')
  await setTrigger(paused, 'paused_for = null')
  await organization('suspended_at = null')
  for (const { trigger } of scenes) {
    const [row] = await db.run<{ minutes: number; idle_at: Date | null }>(
      'select round(extract(epoch from paid_until - now()) / 60)::integer as minutes, idle_at from watch where id = $1',
      [trigger.id],
    )
    expect(row).toEqual({ minutes: 20, idle_at: null })
  }
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
  expect((await listMessages(made)).map(({ type }) => type)).toEqual(['trigger.blind'])
  const tenure = { ...made.lease, at: first.block }
  const next = { number: 11n, hash: HASHES[1] ?? '', timestampSec: 1_700_000_012n }
  await commitBlock(db, commitOf(made, { lease: tenure, block: next }))
  await commitBlock(db, commitOf(made, { lease: { ...tenure, at: next }, block: { ...next, number: 12n } }))
  expect((await listMessages(made)).map(({ type, due }) => [type, due])).toEqual([
    ['trigger.blind', true],
    ['trigger.sighted', true],
  ])
  expect((await textsOf(made)).map((text) => text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, 'then'))).toEqual([
    '1 trigger on Test could not be evaluated since then UTC.',
    '1 trigger on Test is evaluated again from block 11 on, but changes since then UTC that undid themselves were not seen.',
  ])
  expect(await notifyBlindTriggers(db, made.partition, made.lease)).toBe(0)
})
