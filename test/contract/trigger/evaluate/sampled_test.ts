import { expect, test } from 'bun:test'
import { SAMPLE_BLOCKS } from '../../../../src/trigger/trigger.ts'
import { createAccount, readBooks } from '../../../support/account/scene.ts'
import { meterWatcher } from '../../../support/trigger/meter.ts'
import { chargeHourAt, createTrigger, deleteTrigger } from '../../../support/trigger/scene.ts'
import { BELOW, startLoopStage } from './loop_stage.ts'

const HOUR_MS = 3_600_000
const stage = await startLoopStage()
const { db, meter, world } = stage
const { start, watch, evaluated, listMessages, told } = stage

/** Evaluates so many further blocks. */
async function evaluateBlocks(count: number): Promise<void> {
  for (let mined = 1; mined < count; mined++) await meter.mine()
  if (count > 0) await evaluated(await meter.mine())
}

/** Evaluates blocks up to one of which the subject is looked at, and returns how many those were. */
async function evaluateUntilLook(asked: { readonly confirmed: number }): Promise<number> {
  const before = asked.confirmed
  for (let blocks = 1; blocks <= 2 * SAMPLE_BLOCKS; blocks++) {
    await evaluateBlocks(1)
    if (asked.confirmed > before) return blocks
  }
  throw new Error('The subject was not looked at')
}

test('a sampled figure is looked at every 20 blocks, whatever happens between, and exact ones are apart', async () => {
  const account = await createAccount(db)
  await meter.units('sampled', 110)
  await watch(account, 'sampled', BELOW, { pace: 'sampled' })
  const sampled = start({ pace: 'sampled', screen: false })
  const exact = start({ screen: false })
  await evaluateBlocks(1)
  await evaluateUntilLook(sampled)
  await meter.units('sampled', 90)
  await meter.units('sampled', 110)
  expect(await evaluateUntilLook(sampled)).toBe(SAMPLE_BLOCKS - 2)
  expect(await told(account)).toEqual([])
  await meter.units('sampled', 90)
  await evaluateBlocks(SAMPLE_BLOCKS - 2)
  expect(await told(account)).toEqual([])
  await evaluateBlocks(1)
  expect(await told(account)).toEqual([['trigger.fired', 1, '0.90']])
  expect(exact.confirmed).toBe(0)
})

test('what holds at two samples counts as holding between them', async () => {
  const account = await createAccount(db)
  await meter.units('patient', 90)
  await watch(account, 'patient', BELOW, { pace: 'sampled', forBlocks: 30 })
  const sampled = start({ pace: 'sampled', screen: false })
  await evaluateUntilLook(sampled)
  await evaluateUntilLook(sampled)
  expect(await told(account)).toEqual([])
  await evaluateUntilLook(sampled)
  await evaluateUntilLook(sampled)
  expect((await told(account)).map(([type]) => type)).toEqual(['trigger.fired'])
})

test('a sample that a replaced block showed is looked at again on the new branch', async () => {
  const account = await createAccount(db)
  await meter.units('replaced', 110)
  await watch(account, 'replaced', BELOW, { pace: 'sampled' })
  const sampled = start({ pace: 'sampled', screen: false })
  await evaluateBlocks(1)
  await evaluateUntilLook(sampled)
  await evaluateBlocks(SAMPLE_BLOCKS - 1)
  await evaluated(await meter.units('replaced', 90))
  expect(await told(account)).toEqual([['trigger.fired', 1, '0.90']])
  await meter.rollBack(1)
  await meter.mine()
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([
    ['trigger.fired', 1, '0.90'],
    ['trigger.reverted', 1, '1.10'],
  ])
})

test('a missed sample is blind, blocks between samples are not, and the next sample sees again', async () => {
  const account = await createAccount(db)
  await meter.units('missed', 110)
  const { id } = await watch(account, 'missed', BELOW, { pace: 'sampled' })
  const watcher = meterWatcher({ confirmed: 0, shared: 0 }, { screen: false })
  let isKnown = true
  const asked = { confirmed: 0 }
  start({
    pace: 'sampled',
    screen: false,
    confirm: async (...query) => {
      asked.confirmed++
      const confirmed = await watcher.confirm(...query)
      return isKnown ? confirmed : confirmed.map(() => ({ value: () => undefined, text: () => null, memo: undefined }))
    },
  })
  const listUnseen = () => db.run('select id from watch_unseen', [])
  /** Lets a minute pass, and looks for blind triggers. */
  const waitMinute = async () => {
    await db.run(`update watch_unseen set since_at = since_at - interval '61 seconds'`, [])
    await db.run(`update watch set active_at = active_at - interval '1 hour'`, [])
    world.nowMs += 61_000
    await evaluateBlocks(1)
  }
  await evaluateBlocks(1)
  await evaluateUntilLook(asked)
  await waitMinute()
  expect([await listUnseen(), await told(account)]).toEqual([[], []])
  isKnown = false
  const looks = asked.confirmed
  await evaluateUntilLook(asked)
  expect(await listUnseen()).toEqual([{ id }])
  await waitMinute()
  expect((await listMessages(account)).map(({ type, data }) => [type, data['trigger_ids']])).toEqual([
    ['trigger.blind', [id]],
  ])
  isKnown = true
  await evaluateUntilLook(asked)
  // It was looked at once more, and not at each block in hope.
  expect(asked.confirmed - looks).toBe(2)
  expect((await listMessages(account)).map(({ type }) => type)).toEqual(['trigger.blind', 'trigger.sighted'])
  expect(await listUnseen()).toEqual([])
})

test('an hour of a sampled figure costs 5 credits, once, also of one that is deleted in it or resumes', async () => {
  const hour = Math.floor(Date.now() / HOUR_MS)
  const { caller } = await createAccount(db, { credits: 100 })
  const { organizationId, apiKeyId } = caller
  const createdAt = new Date((hour - 1) * HOUR_MS - 600_000)
  const create = (pace: 'exact' | 'sampled') =>
    createTrigger(db, { organizationId, apiKeyId, chainId: 1, pace, createdAt })
  await create('exact')
  await create('sampled')
  const deleted = await create('sampled')
  await deleteTrigger(db, deleted)
  const charge = async (at: number) => {
    // Every process charges, and one that restarted does not know what was charged.
    await Promise.all([chargeHourAt(db, at, 100), chargeHourAt(db, at, 100)])
    await chargeHourAt(db, at, 100)
    return (await readBooks(db, organizationId)).charged
  }
  expect(await charge(hour)).toBe(11)
  expect(await charge(hour + 1)).toBe(17)
  await db.run(`update watch set paused_for = 'credits' where organization_id = $1`, [organizationId])
  await db.run('update spending_limit set most = spent + 5 where organization_id = $1', [organizationId])
  expect(await charge(hour + 2)).toBe(17)
  await db.run('update spending_limit set most = spent + 6 where organization_id = $1', [organizationId])
  expect(await charge(hour + 3)).toBe(23)
  expect(
    await db.run('select from watch where organization_id = $1 and paused_for is null', [organizationId]),
  ).toHaveLength(2)
})
