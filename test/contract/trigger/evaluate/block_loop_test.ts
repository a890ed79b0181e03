import { expect, test } from 'bun:test'
import { type Hex, toHex } from 'viem'
import { UnavailableError } from '../../../../src/lib/error.ts'
import type { Trigger } from '../../../../src/trigger/trigger.ts'
import { createAccount, readBooks } from '../../../support/account/scene.ts'
import { METER_CHAIN_ID, meterWatcher } from '../../../support/trigger/meter.ts'
import { editTrigger, updateTrigger } from '../../../support/trigger/scene.ts'
import { BELOW, startLoopStage } from './loop_stage.ts'

const stage = await startLoopStage()
const { db, meter, world } = stage
const { start, stopAll, cutEndpoint, restoreEndpoint, runRounds } = stage
const { watch, evaluated, listMessages, told } = stage

test('a trigger fires at the block where its figure crosses, and is cleared beyond its level', async () => {
  const account = await createAccount(db)
  await meter.units('crossing', 110)
  const trigger = await watch(account, 'crossing', BELOW, { name: 'Mine' })
  start()
  await evaluated(await meter.mine())
  const before = world.wakes
  const crossed = await meter.units('crossing', 104)
  await evaluated(crossed)
  expect(world.wakes).toBe(before + 1)
  await evaluated(await meter.units('crossing', 106))
  await evaluated(await meter.units('crossing', 108))
  const messages = await listMessages(account)
  expect(messages.map(({ type, data }) => [type, data['change'], data['value'], data['previous_value']])).toEqual([
    ['trigger.fired', 1, '1.04', '1.10'],
    ['trigger.cleared', 2, '1.08', '1.06'],
  ])
  const { hash } = await meter.rpc.call<{ hash: string }>('eth_getBlockByNumber', `0x${crossed.toString(16)}`, false)
  expect(messages[0]?.data).toMatchObject({
    trigger_id: trigger.id,
    name: 'Mine',
    chain_id: METER_CHAIN_ID,
    block: { number: Number(crossed), hash, finality: 'latest' },
    family: 'meter',
    subject: { account: 'crossing' },
    when: BELOW,
    answer_url: `https://scope.test/v1/meter?account=crossing&at_block=${crossed}`,
  })
  expect(messages[0]?.text).toBe(`Mine: crossing (meter, Meter): level is 1.04, below 1.05, at block ${crossed}.`)
  expect(await readBooks(db, account.organizationId)).toMatchObject({ charged: 4, logged: 2 })
})

test('a trigger that holds when it is made fires at once, and an edit arms it anew', async () => {
  const account = await createAccount(db)
  await meter.units('low', 50)
  start()
  const trigger = await watch(account, 'low', BELOW)
  await evaluated(await meter.mine())
  await editTrigger(db, trigger, '1.04')
  await evaluated(await meter.mine())
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([
    ['trigger.fired', 1, '0.50'],
    ['trigger.fired', 2, '0.50'],
  ])
})

test('a trigger that is made at an evaluated block is evaluated at it, once', async () => {
  const account = await createAccount(db)
  for (const name of ['low', 'high', 'held']) await meter.units(name, name === 'high' ? 200 : 50)
  start()
  await watch(account, 'high', BELOW)
  const block = await meter.mine()
  await evaluated(block)
  const low = await watch(account, 'low', BELOW)
  await watch(account, 'held', BELOW, { forBlocks: 2 })
  for (let round = 0; round < 4; round++) await runRounds()
  const [fired, ...others] = await listMessages(account)
  expect([fired?.type, fired?.data['trigger_id'], others]).toEqual(['trigger.fired', low.id, []])
  expect(fired?.data['block']).toMatchObject({ number: Number(block) })
  expect(await readBooks(db, account.organizationId)).toMatchObject({ charged: 2 })
  // An edit is evaluated at it too, and what counts blocks has counted this one once.
  await editTrigger(db, low, '1.04')
  await runRounds()
  expect(await told(account)).toHaveLength(2)
  await evaluated(await meter.mine())
  expect((await told(account)).slice(2)).toEqual([['trigger.fired', 1, '0.50']])
})

test('a trigger that is made at an evaluated block that was replaced waits for the next one', async () => {
  const account = await createAccount(db)
  await meter.units('waits', 50)
  start()
  await watch(account, 'another', BELOW)
  await evaluated(await meter.mine())
  await meter.rollBack(1)
  await watch(account, 'waits', BELOW)
  for (let round = 0; round < 3; round++) await runRounds()
  expect(await told(account)).toEqual([])
  await meter.mine()
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([['trigger.fired', 1, '0.50']])
})

test('a trigger that is made after blocks that are still to be evaluated is not told of them', async () => {
  const account = await createAccount(db)
  await meter.units('made later', 50)
  start()
  await watch(account, 'another', BELOW)
  await evaluated(await meter.mine())
  // A gap, in which the condition held.
  await meter.mine()
  await meter.units('made later', 200)
  const newest = await meter.mine()
  const { timestamp } = await meter.rpc.call<{ timestamp: Hex }>('eth_getBlockByNumber', toHex(newest), false)
  const made = new Date(Number(timestamp) * 1_000)
  await watch(account, 'made later', BELOW, { createdAt: made })
  await watch(account, 'made later', { figure: 'level', above: '1.5' }, { createdAt: made })
  await evaluated(newest)
  const messages = await listMessages(account)
  expect(messages.map(({ data }) => [data['when'], data['value'], data['block']])).toEqual([
    [{ figure: 'level', above: '1.5' }, '2.00', expect.objectContaining({ number: Number(newest) })],
  ])
})

test('only who is near a threshold, was touched, or seems to cross is confirmed', async () => {
  const account = await createAccount(db)
  const watched: Trigger[] = []
  for (let index = 0; index < 20; index++) {
    await meter.units(`far ${index}`, 200 + index)
    watched.push(await watch(account, `far ${index}`, BELOW))
  }
  const asked = start()
  await evaluated(await meter.mine())
  expect(asked.confirmed).toBe(20)
  for (let block = 0; block < 5; block++) await evaluated(await meter.mine())
  expect(asked.confirmed).toBe(20)
  // Listed again, which each trigger also is as long as any transaction runs that began before it was made.
  for (const trigger of watched) await updateTrigger(db, trigger, { name: 'another' })
  for (let block = 0; block < 5; block++) await evaluated(await meter.mine())
  expect(asked.confirmed).toBe(20)
  await evaluated(await meter.units('far 3', 300))
  expect(asked.confirmed).toBe(21)
  // No subject is touched, but all of them cross.
  await evaluated(await meter.price(0))
  expect(asked.confirmed).toBe(41)
  expect(await told(account)).toHaveLength(20)
})

test('a subject that cannot be read leaves only its own trigger behind, and is read apart from then on', async () => {
  const account = await createAccount(db, { credits: 1_200 })
  const names = Array.from({ length: 600 }, (_, index) => `piece ${index}`)
  // More statements at once than may wait for the database are refused.
  for (let from = 0; from < names.length; from += 100) {
    const some = names.slice(from, from + 100)
    await Promise.all(some.map((name) => watch(account, name, { figure: 'level', is: true })))
  }
  let unreadable = ''
  let pieces: number[] = []
  let isLow = false
  start({
    confirm: async (subjects) => {
      if (subjects.some(({ account: name }) => name === unreadable)) throw new UnavailableError('Cannot read')
      pieces.push(subjects.length)
      return subjects.map(() => ({ value: () => isLow, text: () => isLow, memo: undefined }))
    },
    screen: false,
  })
  await evaluated(await meter.mine())
  expect(new Set(pieces)).toEqual(new Set([500, 100]))
  unreadable = 'piece 7'
  isLow = true
  pieces = []
  const crossed = await meter.mine()
  await evaluated(crossed)
  expect(pieces.length).toBeLessThan(12)
  expect(await told(account)).toHaveLength(599)
  const listUnseen = () =>
    db.run<{ account: string; block: string }>(
      `select w.subject ->> 'account' as account, u.since_block as block
       from watch_unseen u join watch w on w.organization_id = u.organization_id and w.id = u.id`,
      [],
    )
  const [sight] = await db.run<{ block: string }>("select block from watch_sight where family = 'meter'", [])
  expect(sight?.block).toBe(String(crossed))
  expect(await listUnseen()).toEqual([{ account: 'piece 7', block: String(crossed) }])
  pieces = []
  await evaluated(await meter.mine())
  expect(new Set(pieces)).toEqual(new Set([500, 99]))
  expect(await listUnseen()).toEqual([{ account: 'piece 7', block: String(crossed) }])
  unreadable = ''
  await evaluated(await meter.mine())
  const messages = await listMessages(account)
  const blocks = messages.map(({ data }) => (data['block'] as { number: number }).number)
  expect(messages).toHaveLength(600)
  expect(new Set(messages.map(({ data }) => data['trigger_id'])).size).toBe(600)
  expect(blocks.filter((number) => number === Number(crossed))).toHaveLength(599)
  expect(await listUnseen()).toEqual([])
}, 60_000)

test('a subject that could not be read at a block is read at the next one, which does not touch it', async () => {
  const account = await createAccount(db)
  await meter.units('touched', 110)
  await watch(account, 'touched', BELOW)
  await watch(account, 'far from it', { figure: 'level', above: '5' })
  await meter.units('far from it', 200)
  const { confirm } = meterWatcher()
  let fails = false
  start({
    confirm: (subjects, target, work) =>
      fails ? Promise.reject(new UnavailableError('Cannot read')) : confirm(subjects, target, work),
  })
  await evaluated(await meter.mine())
  fails = true
  await evaluated(await meter.units('touched', 100))
  fails = false
  expect(await told(account)).toEqual([])
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([['trigger.fired', 1, '1.00']])
})

test('a subject that cannot be read again after it was read is noted again', async () => {
  const account = await createAccount(db)
  for (const name of ['now and then', 'always']) await meter.units(name, 110)
  const { id } = await watch(account, 'now and then', BELOW)
  await watch(account, 'always', BELOW)
  const { confirm } = meterWatcher()
  let fails = false
  start({
    screen: false,
    confirm: (subjects, target, work) =>
      fails && subjects.some(({ account: name }) => name === 'now and then')
        ? Promise.reject(new UnavailableError('Cannot read'))
        : confirm(subjects, target, work),
  })
  for (const isNoted of [false, true, false, true]) {
    fails = isNoted
    await evaluated(await meter.mine())
    expect(await db.run('select id from watch_unseen', [])).toEqual(isNoted ? [{ id }] : [])
  }
})

test('a change that the database refuses stops no other, and its trigger is told to be blind', async () => {
  const account = await createAccount(db)
  for (const name of ['refused', 'fine']) await meter.units(name, 110)
  const refused = await watch(account, 'refused', BELOW)
  await watch(account, 'fine', BELOW)
  start({ blindAfterSec: 1 })
  await evaluated(await meter.mine())
  await db.run(`alter table watch_state add constraint refuses check (id <> '${refused.id}' or changes = 0)`, [])
  try {
    await evaluated(await meter.price(0))
    await evaluated(await meter.mine())
    expect((await told(account)).map(([type]) => type)).toEqual(['trigger.fired'])
    await db.run(`update watch_unseen set since_at = since_at - interval '1 minute'`, [])
    await db.run(`update watch set active_at = active_at - interval '1 minute'`, [])
    world.nowMs += 10_000
    await evaluated(await meter.mine())
    const [, blind] = await listMessages(account)
    expect([blind?.type, blind?.data['trigger_ids']]).toEqual(['trigger.blind', [refused.id]])
  } finally {
    await db.run('alter table watch_state drop constraint refuses', [])
  }
})

test('for_blocks counts blocks in a row, and without a screen all subjects are confirmed', async () => {
  const account = await createAccount(db)
  await meter.units('patient', 110)
  await watch(account, 'patient', BELOW, { forBlocks: 3 })
  start({ screen: false })
  await evaluated(await meter.mine())
  for (const units of [100, 100, 110, 100, 100]) await evaluated(await meter.units('patient', units))
  expect(await told(account)).toEqual([])
  await evaluated(await meter.units('patient', 99))
  expect(await told(account)).toEqual([['trigger.fired', 1, '0.99']])
})

test('a process that takes over counts no block twice', async () => {
  const account = await createAccount(db)
  await meter.units('taken over', 110)
  await watch(account, 'taken over', BELOW, { forBlocks: 3 })
  start({ holder: 'same' })
  await evaluated(await meter.mine())
  await evaluated(await meter.units('taken over', 100))
  stopAll()
  start({ holder: 'same' })
  for (let round = 0; round < 4; round++) await runRounds()
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([])
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([['trigger.fired', 1, '1.00']])
})

test('each event is told once, by its type, and what happened before the trigger was made is not', async () => {
  const account = await createAccount(db)
  await meter.units('eventful', 5)
  await watch(account, 'absent', BELOW)
  start()
  await evaluated(await meter.mine())
  await watch(account, 'eventful', { event: ['Set'] })
  await evaluated(await meter.units('eventful', 6))
  await evaluated(await meter.units('another', 7))
  await evaluated(await meter.units('eventful', 6))
  expect(await told(account)).toEqual([
    ['trigger.fired', 1, 'Set'],
    ['trigger.fired', 2, 'Set'],
  ])
})

test('a trigger that expires before its endpoint answers again is not evaluated', async () => {
  const account = await createAccount(db)
  await meter.units('expires', 50)
  start()
  await watch(account, 'absent', BELOW)
  await evaluated(await meter.mine())
  await watch(account, 'expires', BELOW, { expiresAt: new Date(world.nowMs + 30_000) })
  cutEndpoint()
  await runRounds()
  world.nowMs += 31_000
  restoreEndpoint()
  for (let round = 0; round < 3; round++) await runRounds()
  expect([await told(account), await readBooks(db, account.organizationId)]).toMatchObject([[], { charged: 0 }])
})
