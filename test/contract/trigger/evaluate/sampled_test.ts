import { expect, test } from 'bun:test'
import { SAMPLING } from '../../../../src/family/watch.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { SAMPLE_BLOCKS } from '../../../../src/trigger/trigger.ts'
import { createAccount, readBooks } from '../../../support/account/scene.ts'
import { meterWatcher } from '../../../support/trigger/meter.ts'
import { chargeHourAt, createTrigger, deleteTrigger } from '../../../support/trigger/scene.ts'
import { BELOW, startLoopStage } from './loop_stage.ts'

const HOUR_MS = 3_600_000
const stage = await startLoopStage()
const { db, meter, rpc, world } = stage
const { start, watch, evaluated, runRounds, listMessages, told } = stage

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

test('many slow subjects are looked at in turn, within the lease of one process', async () => {
  const account = await createAccount(db)
  const names = Array.from({ length: 10 * SAMPLING.subjectsMax }, (_, index) => `slow ${index}`)
  for (const name of names) await watch(account, name, BELOW, { pace: 'sampled' })
  const watcher = meterWatcher(undefined, { screen: false })
  const looks: string[] = []
  const other = start({ pace: 'sampled', screen: false, holder: 'other' })
  /** What the lease does not know yet of the time that a head took. */
  let headMs = 0
  /** Lets time pass for the process and its lease. */
  const pass = async (sinceMs: number) => {
    const ms = sinceMs + headMs
    world.nowMs += sinceMs
    headMs = 0
    await db.run(`update watch_cursor set lease_until = lease_until - $1::double precision * interval '1 ms'`, [ms])
  }
  const slow = start({
    pace: 'sampled',
    screen: false,
    holder: 'slow',
    confirm: async (subjects, ...rest) => {
      looks.push(...subjects.map(({ account: name = '' }) => name))
      await pass((subjects.length * SAMPLING.ms) / SAMPLING.subjectsMax)
      await runRounds([other.job])
      return await watcher.confirm(subjects, ...rest)
    },
  })
  await meter.mine()
  await runRounds([slow.job])
  const listHolders = () => db.run('select holder, epoch from watch_cursor', [])
  const holders = await listHolders()
  for (let blocks = 1; blocks < 10; blocks++) {
    await meter.mine()
    // The lease is as old as it may be when a block comes, and its head takes as long as it may.
    await pass(4_900)
    rpc.rule(() => {
      if (headMs === 0) world.nowMs += 4_900
      headMs = 4_900
      return undefined
    })
    await runRounds([slow.job])
  }
  expect([new Set(looks).size, looks.length, other.confirmed]).toEqual([names.length, names.length, 0])
  expect(await listHolders()).toEqual(holders)
  expect(holders).toMatchObject([{ holder: 'slow' }])
})

test('subjects that cannot be read keep none of the others from their turn', async () => {
  const account = await createAccount(db)
  const bad = Array.from({ length: SAMPLING.subjectsMax }, (_, index) => `bad ${index}`)
  for (const [index, name] of [...bad, 'good'].entries())
    await watch(account, name, BELOW, { pace: 'sampled', id: `trg_${index}` })
  const watcher = meterWatcher(undefined, { screen: false })
  const looks: string[] = []
  start({
    pace: 'sampled',
    screen: false,
    confirm: async (subjects, ...rest) => {
      looks.push(subjects.map(({ account: name }) => name).join())
      if (subjects.some(({ account: name = '' }) => bad.includes(name))) throw new UnavailableError('No such account')
      return await watcher.confirm(subjects, ...rest)
    },
  })
  await evaluated(await meter.mine())
  expect(looks.at(0)).toBe(bad.join())
  expect(looks).toContain('good')
})

test('blocks that have a later one are not sampled', async () => {
  const account = await createAccount(db)
  await watch(account, 'behind', BELOW, { pace: 'sampled' })
  const sampled = start({ pace: 'sampled', screen: false })
  await evaluateBlocks(1)
  await evaluateUntilLook(sampled)
  const before = sampled.confirmed
  await evaluateBlocks(3 * SAMPLE_BLOCKS)
  expect(sampled.confirmed - before).toBe(1)
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
