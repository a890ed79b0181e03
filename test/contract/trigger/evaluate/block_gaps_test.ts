import { expect, test } from 'bun:test'
import { type Hex, toHex } from 'viem'
import { ChainUnavailableError } from '../../../../src/chain/rpc/client.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { createAccount, readBooks } from '../../../support/account/scene.ts'
import { meterWatcher } from '../../../support/trigger/meter.ts'
import { BELOW, startLoopStage } from './loop_stage.ts'

const stage = await startLoopStage()
const { db, meter, rpc, world } = stage
const { start, stopAll, cutEndpoint, restoreEndpoint, runRounds } = stage
const { watch, evaluated, listMessages, told } = stage

for (const gives of [true, false]) {
  test(`an event in a gap has the time of its own block, which logs ${gives ? '' : 'do not '}tell`, async () => {
    const account = await createAccount(db)
    await meter.units('in a gap', 5)
    await meter.mine()
    await watch(account, 'in a gap', { event: ['Set'] })
    start()
    await evaluated(await meter.mine())
    cutEndpoint()
    const changed = await meter.units('in a gap', 6)
    for (let block = 0; block < 12; block++) await meter.mine()
    rpc.rule(({ method }) => {
      const change = (logs: unknown) => (logs as object[]).map((log) => ({ ...log, blockTimestamp: undefined }))
      return method === 'eth_getLogs' && !gives ? { kind: 'change', change } : undefined
    })
    await evaluated(await meter.mine())
    const at = `0x${changed.toString(16)}`
    const { hash, timestamp } = await meter.rpc.call<{ hash: Hex; timestamp: Hex }>('eth_getBlockByNumber', at, false)
    expect((await listMessages(account)).map(({ data }) => data['block'])).toEqual([
      { number: Number(changed), hash, timestamp: Number(timestamp), finality: 'latest' },
    ])
  })
}

test('a replaced block takes back what does not hold on the new branch, and nothing else', async () => {
  const account = await createAccount(db)
  await meter.units('taken back', 110)
  await meter.units('stays', 110)
  await watch(account, 'taken back', BELOW)
  await watch(account, 'stays', BELOW)
  start()
  await evaluated(await meter.mine())
  await meter.units('stays', 100)
  await evaluated(await meter.units('taken back', 100))
  expect(await told(account)).toHaveLength(2)
  await meter.rollBack(2)
  await meter.units('stays', 100)
  await meter.mine()
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([
    ['trigger.fired', 1, '1.00'],
    ['trigger.fired', 1, '1.00'],
    ['trigger.reverted', 1, '1.10'],
  ])
  expect((await listMessages(account)).at(-1)?.data['subject']).toEqual({ account: 'taken back' })
  await evaluated(await meter.units('taken back', 101))
  expect((await told(account)).at(-1)).toEqual(['trigger.fired', 2, '1.01'])
  expect(await readBooks(db, account.organizationId)).toMatchObject({ charged: 6 })
})

test('a figure that was read at the first replaced block is read again', async () => {
  const account = await createAccount(db)
  await meter.units('read there', 300)
  await watch(account, 'read there', { figure: 'level', above: '5' })
  start()
  await evaluated(await meter.mine())
  await evaluated(await meter.units('read there', 200))
  await meter.rollBack(1)
  await meter.mine()
  await evaluated(await meter.mine())
  // By the figure of the replaced block it would be 4.
  await evaluated(await meter.price(2))
  expect(await told(account)).toEqual([['trigger.fired', 1, '6.00']])
})

test('a process that begins after blocks were replaced finds what does not hold', async () => {
  const account = await createAccount(db)
  await meter.units('restarted', 110)
  await watch(account, 'restarted', BELOW)
  start({ holder: 'same' })
  await evaluated(await meter.mine())
  await evaluated(await meter.units('restarted', 100))
  stopAll()
  await meter.rollBack(1)
  for (let block = 0; block < 12; block++) await meter.mine()
  start({ holder: 'same' })
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([
    ['trigger.fired', 1, '1.00'],
    ['trigger.reverted', 1, '1.10'],
  ])
})

test('after a gap each block is looked at, and each change is told at its block', async () => {
  const account = await createAccount(db)
  await meter.units('gap', 110)
  await watch(account, 'gap', BELOW)
  start()
  await evaluated(await meter.mine())
  cutEndpoint()
  const fired = await meter.units('gap', 100)
  for (let block = 0; block < 20; block++) await meter.mine()
  const cleared = await meter.units('gap', 120)
  for (let block = 0; block < 20; block++) await meter.mine()
  const firedAgain = await meter.units('gap', 90)
  restoreEndpoint()
  await evaluated(await meter.mine())
  const messages = await listMessages(account)
  expect(
    messages.map(({ type, data }) => [type, data['change'], (data['block'] as { number: number }).number]),
  ).toEqual([
    ['trigger.fired', 1, Number(fired)],
    ['trigger.cleared', 2, Number(cleared)],
    ['trigger.fired', 3, Number(firedAgain)],
  ])
})

test('final blocks are looked at one by one, and for_blocks counts them', async () => {
  const account = await createAccount(db)
  await meter.units('final', 110)
  await watch(account, 'final', BELOW, { finality: 'finalized', forBlocks: 3 })
  start({ finality: 'finalized' })
  await evaluated((await meter.mine()) - 2n, 'finalized')
  // Final blocks come many at once.
  for (const units of [100, 100, 110, 100, 100]) await meter.units('final', units)
  const held = await meter.units('final', 99)
  await meter.units('final', 110)
  await meter.mine()
  await evaluated((await meter.mine()) - 2n, 'finalized')
  expect((await listMessages(account)).map(({ type, data }) => [type, data['block']])).toMatchObject([
    ['trigger.fired', { number: Number(held), finality: 'finalized' }],
    ['trigger.cleared', { number: Number(held) + 1 }],
  ])
})

test('blocks whose state is gone are told at once, from the first one left out', async () => {
  const account = await createAccount(db)
  await meter.units('pruned', 110)
  const trigger = await watch(account, 'pruned', BELOW)
  await watch(account, 'pruned', { event: ['Set'] })
  let goneBefore = 0n
  const { confirm } = meterWatcher()
  start({
    screen: false,
    confirm(subjects, target, work) {
      if (target.block.number < goneBefore) throw new ChainUnavailableError('pruned', 'Cannot read the state')
      return confirm(subjects, target, work)
    },
  })
  const last = await meter.mine()
  await evaluated(last)
  for (let block = 0; block < 5; block++) await meter.mine()
  goneBefore = await meter.mine()
  await evaluated(goneBefore)
  expect((await listMessages(account)).map(({ type, data }) => [type, data['trigger_ids'], data['since']])).toEqual([
    ['trigger.blind', [trigger.id], { block: String(last + 1n), at: expect.any(String) }],
    ['trigger.sighted', [trigger.id], { block: String(last + 1n), at: expect.any(String) }],
  ])
})

test('a block at which a family fails is read again, and left out and told after a lease', async () => {
  const account = await createAccount(db)
  await meter.units('failing', 110)
  const trigger = await watch(account, 'failing', BELOW)
  let fails = false
  const { confirm } = meterWatcher()
  start({
    screen: false,
    confirm: (subjects, target, work) =>
      fails ? Promise.reject(new UnavailableError('Cannot read')) : confirm(subjects, target, work),
  })
  await evaluated(await meter.mine())
  fails = true
  const fired = await meter.units('failing', 100)
  await runRounds()
  await meter.units('failing', 110)
  await runRounds()
  fails = false
  await evaluated(await meter.mine())
  expect((await listMessages(account)).map(({ type, data }) => [type, data['block']])).toMatchObject([
    ['trigger.fired', { number: Number(fired) }],
    ['trigger.cleared', { number: Number(fired) + 1 }],
  ])
  fails = true
  const lost = await meter.mine()
  await runRounds()
  world.nowMs += 15_000
  await evaluated(lost)
  const [, , blind] = await listMessages(account)
  expect([blind?.type, blind?.data['trigger_ids'], blind?.data['since']]).toMatchObject([
    'trigger.blind',
    [trigger.id],
    { block: String(lost) },
  ])
  // It goes on without the family, and tells once.
  await evaluated(await meter.mine())
  fails = false
  await evaluated(await meter.mine())
  expect((await listMessages(account)).slice(3).map(({ type }) => type)).toEqual(['trigger.sighted'])
})

test('a change is told at the newest final block, if that is asked for', async () => {
  const account = await createAccount(db)
  await meter.units('final', 110)
  await watch(account, 'final', BELOW, { finality: 'finalized' })
  start({ finality: 'finalized' })
  const crossed = await meter.units('final', 100)
  await evaluated((await meter.mine()) - 2n, 'finalized')
  expect(await told(account)).toEqual([])
  await meter.mine()
  await evaluated(crossed, 'finalized')
  expect((await listMessages(account)).map(({ data }) => data['block'])).toMatchObject([
    { number: Number(crossed), finality: 'finalized' },
  ])
})

test('a log that an endpoint drops delays a change by at most the sweep, and invents none', async () => {
  const account = await createAccount(db)
  await meter.units('dropped', 110)
  await meter.units('steady', 110)
  await watch(account, 'dropped', BELOW)
  await watch(account, 'steady', BELOW)
  const asked = start()
  await evaluated(await meter.mine())
  rpc.rule(({ method }) => (method === 'eth_getLogs' ? { kind: 'result', result: [] } : undefined))
  const changed = await meter.units('dropped', 100)
  await evaluated(changed)
  expect(await told(account)).toEqual([])
  expect(asked.confirmed).toBe(2)
  for (let block = 0; block < 300; block += 5) {
    for (let each = 0; each < 4; each++) await meter.mine()
    await evaluated(await meter.mine())
  }
  const messages = await listMessages(account)
  expect(messages.map(({ type, data }) => [type, data['value'], data['subject']])).toEqual([
    ['trigger.fired', '1.00', { account: 'dropped' }],
  ])
  expect(asked.confirmed).toBe(4)
}, 60_000)

test('events in a gap of over a thousand blocks, as between final blocks of fast chains, are told in their order', async () => {
  const account = await createAccount(db)
  await meter.units('far back', 5)
  await meter.mine()
  await watch(account, 'far back', { event: ['Set'] })
  start()
  await evaluated(await meter.mine())
  cutEndpoint()
  const changed: bigint[] = []
  for (const units of [6, 7]) {
    changed.push(await meter.units('far back', units))
    await meter.rpc.call('anvil_mine', toHex(600), '0x1')
  }
  restoreEndpoint()
  await evaluated(await meter.mine())
  const blocks = (await listMessages(account)).map(({ data }) => (data['block'] as { number: number }).number)
  expect(blocks).toEqual(changed.map(Number))
}, 30_000)
