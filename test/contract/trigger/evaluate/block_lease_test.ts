import { expect, test } from 'bun:test'
import { CLI_ACTOR } from '../../../../src/account/audit.ts'
import { setOrganizationState } from '../../../../src/account/organization.ts'
import type { Watcher } from '../../../../src/family/watch.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { listTriggers } from '../../../../src/trigger/stored.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { METER_CHAIN_ID, meterWatcher } from '../../../support/trigger/meter.ts'
import { updateTrigger } from '../../../support/trigger/scene.ts'
import { BELOW, startLoopStage } from './loop_stage.ts'

const stage = await startLoopStage()
const { db, meter, world } = stage
const { start, stopAll, cutEndpoint, restoreEndpoint, runRounds } = stage
const { watch, evaluated, listMessages, told } = stage

test('endpoints away: one blind, one sighted, and the change in between', async () => {
  const account = await createAccount(db)
  await meter.units('unseen', 110)
  await watch(account, 'unseen', BELOW)
  start({ blindAfterSec: 2 })
  await evaluated(await meter.mine())
  cutEndpoint()
  await meter.units('unseen', 100)
  for (let block = 0; block < 12; block++) await meter.mine()
  // The database has a clock of its own.
  await db.run("update watch_sight set at = at - interval '2 seconds'", [])
  await db.run("update watch set active_at = active_at - interval '2 seconds'", [])
  world.nowMs += 1_999
  await runRounds()
  expect(await listMessages(account)).toEqual([])
  world.nowMs += 1
  await runRounds()
  expect((await listMessages(account)).map(({ type }) => type)).toEqual(['trigger.blind'])
  restoreEndpoint()
  await evaluated(await meter.mine())
  await evaluated(await meter.mine())
  const messages = await listMessages(account)
  expect(messages.map(({ type }) => type)).toEqual(['trigger.blind', 'trigger.sighted', 'trigger.fired'])
  expect(messages[1]?.data).toMatchObject({ chain_id: METER_CHAIN_ID, since: messages[0]?.data['since'] })
}, 60_000)

test('a figure that cannot be told is blind by itself after the promised time, and sighted when it can', async () => {
  const [mine, theirs] = [await createAccount(db), await createAccount(db)]
  const states = async () =>
    (await listTriggers(db, mine.organizationId, { page: 1, limit: 10 })).triggers.map(({ name, state }) => [
      name,
      state,
    ])
  let isUnknown = true
  let value = false
  start({
    blindAfterSec: 60,
    screen: false,
    confirm: async (subjects) =>
      subjects.map(({ account: name }) => {
        const figure = isUnknown && name === 'stale' ? undefined : value
        return { value: () => figure, text: () => figure ?? null, memo: undefined }
      }),
  })
  await watch(theirs, 'another', { figure: 'level', is: true })
  await evaluated(await meter.mine())
  const stale = await watch(mine, 'stale', { figure: 'level', is: true }, { name: 'stale' })
  await watch(mine, 'fresh', { figure: 'level', is: true }, { name: 'fresh' })
  const first = await meter.mine()
  await evaluated(first)
  // The database has a clock of its own.
  const pass = async (sec: number) => {
    world.nowMs += sec * 1_000
    for (const [table, column] of [
      ['watch_unseen', 'since_at'],
      ['watch', 'active_at'],
    ]) {
      await db.run(`update ${table} set ${column} = ${column} - make_interval(secs => $1)`, [sec])
    }
  }
  await pass(59)
  await evaluated(await meter.mine())
  expect(await listMessages(mine)).toEqual([])
  await pass(1)
  await evaluated(await meter.mine())
  expect((await listMessages(mine)).map(({ type, data }) => [type, data['trigger_ids'], data['since']])).toEqual([
    ['trigger.blind', [stale.id], { block: String(first), at: expect.any(String) }],
  ])
  expect(await listMessages(theirs)).toEqual([])
  expect((await states()).sort()).toEqual([
    ['fresh', 'armed'],
    ['stale', 'blind'],
  ])
  // It is not told twice, and others are still evaluated.
  value = true
  await pass(60)
  await evaluated(await meter.mine())
  expect((await listMessages(mine)).map(({ type, data }) => [type, data['name']])).toEqual([
    ['trigger.blind', undefined],
    ['trigger.fired', 'fresh'],
  ])
  isUnknown = false
  await evaluated(await meter.mine())
  expect(
    (await listMessages(mine)).slice(2).map(({ type, data }) => [type, data['trigger_ids'] ?? data['name']]),
  ).toEqual([
    ['trigger.sighted', [stale.id]],
    ['trigger.fired', 'stale'],
  ])
  expect((await states()).sort()).toEqual([
    ['fresh', 'fired'],
    ['stale', 'fired'],
  ])
})

test('a process that takes over reports what the one before left out', async () => {
  const account = await createAccount(db)
  const confirm: Watcher['confirm'] = async (subjects) =>
    subjects.map(() => ({ value: () => undefined, text: () => null, memo: undefined }))
  await watch(account, 'stale', BELOW)
  start({ screen: false, confirm })
  await evaluated(await meter.mine())
  stopAll()
  await db.run("update watch_unseen set since_at = now() - interval '61 seconds'", [])
  await db.run("update watch set active_at = now() - interval '61 seconds'", [])
  await db.run('update watch_cursor set lease_until = now()', [])
  start({ screen: false, confirm })
  await evaluated(await meter.mine())
  expect((await listMessages(account)).map(({ type }) => type)).toEqual(['trigger.blind'])
})

test('triggers of an organization are let go when it is suspended, and evaluated at once when it is restored', async () => {
  const [account, another] = [await createAccount(db), await createAccount(db)]
  await meter.units('suspended', 110)
  await watch(account, 'suspended', BELOW)
  await watch(another, 'not suspended', BELOW)
  start()
  await evaluated(await meter.mine())
  await setOrganizationState(db, 'suspend', { id: account.organizationId, by: CLI_ACTOR })
  await evaluated(await meter.units('suspended', 100))
  expect(await told(account)).toEqual([])
  await setOrganizationState(db, 'restore', { id: account.organizationId, by: CLI_ACTOR })
  await evaluated(await meter.mine())
  await evaluated(await meter.mine())
  expect(await told(account)).toEqual([['trigger.fired', 1, '1.00']])
})

test('a trigger that is moved to another finality is let go at once, and told of there alone', async () => {
  const account = await createAccount(db)
  await meter.units('moved', 110)
  await meter.units('stays', 110)
  const moved = await watch(account, 'moved', BELOW)
  await watch(account, 'stays', BELOW)
  const asked = start({ screen: false })
  await evaluated(await meter.mine())
  await evaluated(await meter.units('moved', 100))
  await evaluated(await meter.units('moved', 120))
  await meter.mine()
  // What happened so far is final then.
  await evaluated(await meter.mine())
  await db.run("update watch set active_at = now() - interval '1 hour'", [])
  await updateTrigger(db, moved, { finality: 'finalized' })
  start({ finality: 'finalized', screen: false })
  await evaluated(await meter.mine())
  const before = asked.confirmed
  const crossed = await meter.units('moved', 90)
  await evaluated(crossed)
  await evaluated(await meter.mine())
  // Once for each block, for the remaining process.
  expect(asked.confirmed - before).toBe(2)
  await meter.mine()
  await evaluated(crossed, 'finalized')
  const messages = await listMessages(account)
  expect(messages.map(({ type, data }) => [type, data['change'], data['value'], data['block']])).toMatchObject([
    ['trigger.fired', 1, '1.00', { finality: 'latest' }],
    ['trigger.cleared', 2, '1.20', { finality: 'latest' }],
    ['trigger.fired', 3, '0.90', { number: Number(crossed), finality: 'finalized' }],
  ])
  await updateTrigger(db, moved, { finality: 'latest' })
  await evaluated(await meter.units('moved', 80))
  await evaluated(await meter.mine())
  expect((await told(account)).slice(3)).toEqual([['trigger.fired', 4, '0.80']])
})

test('another process takes over after the lease, and tells nothing twice', async () => {
  const account = await createAccount(db)
  await meter.units('taken over', 110)
  await watch(account, 'taken over', BELOW)
  start()
  await evaluated(await meter.mine())
  await evaluated(await meter.units('taken over', 100))
  stopAll()
  await db.run('update watch_cursor set lease_until = now()', [])
  start()
  await evaluated(await meter.mine())
  await evaluated(await meter.units('taken over', 120))
  expect(await told(account)).toEqual([
    ['trigger.fired', 1, '1.00'],
    ['trigger.cleared', 2, '1.20'],
  ])
})

test('a process that cannot read the chain leaves its triggers to one that can, and alone goes on trying', async () => {
  const account = await createAccount(db)
  await meter.units('left', 110)
  await watch(account, 'left', BELOW)
  const holder = async () => (await db.run<{ holder: string }>('select holder from watch_cursor', []))[0]?.holder
  const blind = start({ holder: 'blind' })
  await evaluated(await meter.mine())
  cutEndpoint()
  const crossed = await meter.units('left', 100)
  await runRounds()
  world.nowMs += 15_000
  await runRounds()
  restoreEndpoint()
  // It still holds the lease, for want of another.
  await evaluated(crossed)
  expect(await told(account)).toEqual([['trigger.fired', 1, '1.00']])

  cutEndpoint()
  start({ holder: 'seeing', url: meter.url })
  const cleared = await meter.units('left', 120)
  world.nowMs += 14_999
  await runRounds()
  expect(await holder()).toBe('blind')
  world.nowMs += 5_000
  await runRounds()
  expect(await holder()).toBe('seeing')
  await evaluated(cleared)
  expect(await told(account)).toEqual([
    ['trigger.fired', 1, '1.00'],
    ['trigger.cleared', 2, '1.20'],
  ])
  // The blind one stays away for a lease longer than others would.
  await db.run('update watch_cursor set lease_until = now()', [])
  await runRounds([blind.job])
  expect(await holder()).toBe('seeing')
})

test('processes that cannot read the chain hand a line that they were given on at once, to one that can', async () => {
  const account = await createAccount(db)
  await meter.units('handed on', 110)
  await watch(account, 'handed on', BELOW)
  cutEndpoint()
  for (let process = 0; process < 3; process++) start()
  await runRounds()
  const last = start({ holder: 'seeing', url: meter.url })
  const crossed = await meter.units('handed on', 100)
  // No time passes: each took the line, failed, and offered it at its next round.
  for (let round = 0; round < 4; round++) await runRounds()
  expect(await db.run('select holder from watch_cursor', [])).toEqual([{ holder: 'seeing' }])
  await evaluated(crossed)
  expect(await told(account)).toEqual([['trigger.fired', 1, '1.00']])
  expect(last.confirmed).toBeGreaterThan(0)
  // It offers nothing itself, from its first block on.
  expect(await db.run('select lease_until > now() as held from watch_cursor', [])).toEqual([{ held: true }])
})

test('a process that evaluates no family leaves its triggers to one that does', async () => {
  const account = await createAccount(db)
  await meter.units('unread', 110)
  await watch(account, 'unread', BELOW)
  const confirm = () => Promise.reject(new UnavailableError('Cannot read'))
  start({ confirm, screen: false })
  await runRounds()
  start()
  for (let at = 0; at < 5; at++) {
    world.nowMs += 5_000
    await meter.mine()
    await runRounds()
  }
  const crossed = await meter.units('unread', 100)
  await evaluated(crossed)
  expect(await told(account)).toEqual([['trigger.fired', 1, '1.00']])
})

test('a process that evaluates no family any more leaves its triggers to one that begins later', async () => {
  const account = await createAccount(db)
  await meter.units('given up', 110)
  await watch(account, 'given up', BELOW)
  const { confirm } = meterWatcher()
  let fails = false
  start({
    screen: false,
    confirm: (subjects, target, work) =>
      fails ? Promise.reject(new UnavailableError('Cannot read')) : confirm(subjects, target, work),
  })
  await evaluated(await meter.mine())
  fails = true
  const passBlock = async () => {
    world.nowMs += 5_000
    await meter.mine()
    await runRounds()
  }
  // After a lease it goes on without the family.
  for (let block = 0; block < 5; block++) await passBlock()
  await meter.units('given up', 100)
  start()
  for (let block = 0; block < 5; block++) await passBlock()
  expect(await told(account)).toContainEqual(['trigger.fired', 1, '1.00'])
})

test('a process that gets on again takes a line as early as any other', async () => {
  const account = await createAccount(db)
  await watch(account, 'again', BELOW)
  start({ holder: 'again' })
  await evaluated(await meter.mine())
  cutEndpoint()
  await runRounds()
  world.nowMs += 15_000
  await runRounds()
  restoreEndpoint()
  await evaluated(await meter.mine())
  await db.run("update watch_cursor set holder = 'ended', epoch = epoch + 1, lease_until = now()", [])
  world.nowMs += 5_001
  await evaluated(await meter.mine())
  expect(await db.run('select holder from watch_cursor', [])).toEqual([{ holder: 'again' }])
})
