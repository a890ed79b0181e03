import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { type Hex, toHex } from 'viem'
import { CLI_ACTOR } from '../../../src/account/audit.ts'
import { setOrganizationState } from '../../../src/account/organization.ts'
import { StatePrunedError } from '../../../src/chain/rpc/client.ts'
import type { Database } from '../../../src/db/database.ts'
import type { Watcher } from '../../../src/family/watch.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import type { Job } from '../../../src/job/job.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { blockLoopJob } from '../../../src/trigger/evaluate/block_loop.ts'
import { listTriggers } from '../../../src/trigger/stored.ts'
import type { Clause, FinalityLevel, Trigger } from '../../../src/trigger/trigger.ts'
import { type Account, createAccount, readBooks } from '../../account/scene.ts'
import { testDatabase } from '../../support/database.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { createFixedClock } from '../../support/test_clock.ts'
import { METER_CHAIN_ID, type Meter, type MeterAsked, meterWatcher, startMeter } from '../meter.ts'
import { createTrigger, editTrigger, updateTrigger } from '../scene.ts'

let db: Database
let meter: Meter
let rpc: FaultyRpc
let lines = 0
/** Number of notifications about new messages. */
let wakes = 0
/** Rounds that a block, the lease before it and failed endpoints may take. */
const ROUNDS_MAX = 50
const never = new AbortController().signal
/** Loops of this test's processes, in the order of their rounds. */
const jobs: Job[] = []
/** The time of all processes, which only tests move. */
let nowMs = Date.now()

beforeAll(async () => {
  db = (await testDatabase()).db
  meter = await startMeter()
  rpc = await startFaultyRpc(meter.url)
}, 60_000)

afterAll(async () => {
  await rpc.stop()
  await meter.stop()
})

afterEach(async () => {
  stopAll()
  rpc.rule(() => undefined)
  await meter.price(1)
  for (const table of ['watch', 'watch_cursor', 'watch_block', 'watch_sight']) {
    await db.run(`delete from ${table}`, [])
  }
})

function stopAll(): void {
  jobs.length = 0
}

/** Runs a round of each process; one that cannot read the chain would pause now. */
async function runRounds(): Promise<void> {
  for (const job of jobs) {
    await job.round(never).catch((error: unknown) => {
      if (!(error instanceof UnavailableError)) throw error
    })
  }
}

interface Message {
  readonly type: string
  readonly text: string
  readonly data: Readonly<Record<string, unknown>>
}

async function messagesOf({ organizationId }: Account): Promise<readonly Message[]> {
  const rows = await db.run<{ body: string }>('select body from message where organization_id = $1 order by no', [
    organizationId,
  ])
  return rows.map(({ body }) => JSON.parse(body))
}

async function told(account: Account) {
  return (await messagesOf(account)).map(({ type, data: { change, value } }) => [type, change, value])
}

interface Options {
  readonly holder?: string
  readonly blindAfterSec?: number
  readonly finality?: FinalityLevel
  readonly chain?: Partial<FinanceChain>
  readonly screen?: boolean
  /** @default reads the meter */
  readonly confirm?: Watcher['confirm']
  /** @default the endpoint that `rpc.rule` breaks */
  readonly url?: string
}

/** Starts a loop as one process does, whose rounds `evaluated()` runs. */
function start(options: Options = {}): MeterAsked {
  const { holder = `process ${lines++}`, blindAfterSec = 60, finality = 'latest', chain = {}, screen = true } = options
  const line = { chainId: METER_CHAIN_ID, chainName: 'Meter', finality, shard: 0, blindAfterSec, leaseSec: 15 }
  const asked = { confirmed: 0, shared: 0 }
  const watcher = meterWatcher(asked, { screen })
  const { confirm = watcher.confirm } = options
  const job = blockLoopJob({
    partition: line,
    client: meter.client(options.url ?? rpc.url, chain),
    watchers: new Map([['meter', { ...watcher, confirm }]]),
    db,
    holder,
    messageContext: {
      partition: line,
      publicUrl: 'https://scope.test',
      answerPath: ({ subject }, number) => `/v1/meter?account=${subject['account']}&at_block=${number}`,
    },
    recorder: { recordBlock: () => {}, recordFailure: () => {}, recordEnd: () => {} },
    onMessagesQueued: () => void wakes++,
    clock: createFixedClock(() => nowMs),
    log: silentLog,
  })
  jobs.push(job)
  return asked
}

async function watch(account: Account, name: string, clause: Clause, of: Partial<Trigger> = {}): Promise<Trigger> {
  const { organizationId, apiKeyId } = account
  const clear = 'below' in clause ? String(Number(clause.below) * 1.02) : null
  const subject = { account: name }
  return await createTrigger(db, {
    organizationId,
    apiKeyId,
    chainId: METER_CHAIN_ID,
    family: 'meter',
    subject,
    clause,
    ...(clear !== null && { clear }),
    ...of,
  })
}

/** Runs rounds until a block is evaluated. */
async function evaluated(number: bigint, finality: FinalityLevel = 'latest'): Promise<void> {
  const isEvaluated = async () => {
    const [row] = await db.run<{ block: string | null }>('select block from watch_cursor where finality = $1', [
      finality,
    ])
    return BigInt(row?.block ?? -1) >= number
  }
  for (let rounds = 0; !(await isEvaluated()); rounds++) {
    if (rounds === ROUNDS_MAX) throw new Error(`Cannot evaluate block ${number} in ${ROUNDS_MAX} rounds`)
    await runRounds()
  }
}

const BELOW: Clause = { figure: 'level', below: '1.05' }

test('a trigger fires at the block where its figure crosses, and is cleared beyond its level', async () => {
  const account = await createAccount(db)
  await meter.units('crossing', 110)
  const trigger = await watch(account, 'crossing', BELOW, { name: 'Mine' })
  start()
  await evaluated(await meter.mine())
  const before = wakes
  const crossed = await meter.units('crossing', 104)
  await evaluated(crossed)
  expect(wakes).toBe(before + 1)
  await evaluated(await meter.units('crossing', 106))
  await evaluated(await meter.units('crossing', 108))
  const messages = await messagesOf(account)
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
  const messages = await messagesOf(account)
  const blocks = messages.map(({ data }) => (data['block'] as { number: number }).number)
  expect(messages).toHaveLength(600)
  expect(new Set(messages.map(({ data }) => data['trigger_id'])).size).toBe(600)
  expect(blocks.filter((number) => number === Number(crossed))).toHaveLength(599)
  expect(await listUnseen()).toEqual([])
}, 60_000)

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

test('each event is told once, by its type, and what happened before the trigger was made is not', async () => {
  const account = await createAccount(db)
  await meter.units('eventful', 5)
  await watch(account, 'nobody', BELOW)
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

for (const gives of [true, false]) {
  test(`an event in a gap has the time of its own block, which logs ${gives ? '' : 'do not '}tell`, async () => {
    const account = await createAccount(db)
    await meter.units('in a gap', 5)
    await meter.mine()
    await watch(account, 'in a gap', { event: ['Set'] })
    start()
    await evaluated(await meter.mine())
    rpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
    const changed = await meter.units('in a gap', 6)
    for (let block = 0; block < 12; block++) await meter.mine()
    rpc.rule(({ method }) => {
      const change = (logs: unknown) => (logs as object[]).map((log) => ({ ...log, blockTimestamp: undefined }))
      return method === 'eth_getLogs' && !gives ? { kind: 'change', change } : undefined
    })
    await evaluated(await meter.mine())
    const at = `0x${changed.toString(16)}`
    const { hash, timestamp } = await meter.rpc.call<{ hash: Hex; timestamp: Hex }>('eth_getBlockByNumber', at, false)
    expect((await messagesOf(account)).map(({ data }) => data['block'])).toEqual([
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
  expect((await messagesOf(account)).at(-1)?.data['subject']).toEqual({ account: 'taken back' })
  await evaluated(await meter.units('taken back', 101))
  expect((await told(account)).at(-1)).toEqual(['trigger.fired', 2, '1.01'])
  expect(await readBooks(db, account.organizationId)).toMatchObject({ charged: 6 })
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

test('endpoints away: one blind, one sighted, and the change in between', async () => {
  const account = await createAccount(db)
  await meter.units('unseen', 110)
  await watch(account, 'unseen', BELOW)
  start({ blindAfterSec: 2 })
  await evaluated(await meter.mine())
  rpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
  await meter.units('unseen', 100)
  for (let block = 0; block < 12; block++) await meter.mine()
  // The database has a clock of its own.
  await db.run("update watch_sight set at = at - interval '2 seconds'", [])
  await db.run("update watch set active_at = active_at - interval '2 seconds'", [])
  nowMs += 1_999
  await runRounds()
  expect(await messagesOf(account)).toEqual([])
  nowMs += 1
  await runRounds()
  expect((await messagesOf(account)).map(({ type }) => type)).toEqual(['trigger.blind'])
  rpc.rule(() => undefined)
  await evaluated(await meter.mine())
  await evaluated(await meter.mine())
  const messages = await messagesOf(account)
  expect(messages.map(({ type }) => type)).toEqual(['trigger.blind', 'trigger.sighted', 'trigger.fired'])
  expect(messages[1]?.data).toMatchObject({ chain_id: METER_CHAIN_ID, since: messages[0]?.data['since'] })
}, 60_000)

/** Lets the endpoints fail until the test says otherwise. */
function cut(): void {
  rpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
}

test('after a gap each block is looked at, and each change is told at its block', async () => {
  const account = await createAccount(db)
  await meter.units('gap', 110)
  await watch(account, 'gap', BELOW)
  start()
  await evaluated(await meter.mine())
  cut()
  const fired = await meter.units('gap', 100)
  for (let block = 0; block < 20; block++) await meter.mine()
  const cleared = await meter.units('gap', 120)
  for (let block = 0; block < 20; block++) await meter.mine()
  const firedAgain = await meter.units('gap', 90)
  rpc.rule(() => undefined)
  await evaluated(await meter.mine())
  const messages = await messagesOf(account)
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
  expect((await messagesOf(account)).map(({ type, data }) => [type, data['block']])).toMatchObject([
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
    confirm(subjects, target, signal) {
      if (target.block.number < goneBefore) throw new StatePrunedError('Cannot read the state')
      return confirm(subjects, target, signal)
    },
  })
  const last = await meter.mine()
  await evaluated(last)
  for (let block = 0; block < 5; block++) await meter.mine()
  goneBefore = await meter.mine()
  await evaluated(goneBefore)
  expect((await messagesOf(account)).map(({ type, data }) => [type, data['trigger_ids'], data['since']])).toEqual([
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
    confirm: (subjects, target, signal) =>
      fails ? Promise.reject(new UnavailableError('Cannot read')) : confirm(subjects, target, signal),
  })
  await evaluated(await meter.mine())
  fails = true
  const fired = await meter.units('failing', 100)
  await runRounds()
  await meter.units('failing', 110)
  await runRounds()
  fails = false
  await evaluated(await meter.mine())
  expect((await messagesOf(account)).map(({ type, data }) => [type, data['block']])).toMatchObject([
    ['trigger.fired', { number: Number(fired) }],
    ['trigger.cleared', { number: Number(fired) + 1 }],
  ])
  fails = true
  const lost = await meter.mine()
  await runRounds()
  nowMs += 15_000
  await evaluated(lost)
  const [, , blind] = await messagesOf(account)
  expect([blind?.type, blind?.data['trigger_ids'], blind?.data['since']]).toMatchObject([
    'trigger.blind',
    [trigger.id],
    { block: String(lost) },
  ])
  // It goes on without the family, and tells once.
  await evaluated(await meter.mine())
  fails = false
  await evaluated(await meter.mine())
  expect((await messagesOf(account)).slice(3).map(({ type }) => type)).toEqual(['trigger.sighted'])
})

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
    nowMs += sec * 1_000
    for (const [table, column] of [
      ['watch_unseen', 'since_at'],
      ['watch', 'active_at'],
    ]) {
      await db.run(`update ${table} set ${column} = ${column} - make_interval(secs => $1)`, [sec])
    }
  }
  await pass(59)
  await evaluated(await meter.mine())
  expect(await messagesOf(mine)).toEqual([])
  await pass(1)
  await evaluated(await meter.mine())
  expect((await messagesOf(mine)).map(({ type, data }) => [type, data['trigger_ids'], data['since']])).toEqual([
    ['trigger.blind', [stale.id], { block: String(first), at: expect.any(String) }],
  ])
  expect(await messagesOf(theirs)).toEqual([])
  expect((await states()).sort()).toEqual([
    ['fresh', 'armed'],
    ['stale', 'blind'],
  ])
  // It is not told twice, and others are still evaluated.
  value = true
  await pass(60)
  await evaluated(await meter.mine())
  expect((await messagesOf(mine)).map(({ type, data }) => [type, data['name']])).toEqual([
    ['trigger.blind', undefined],
    ['trigger.fired', 'fresh'],
  ])
  isUnknown = false
  await evaluated(await meter.mine())
  expect(
    (await messagesOf(mine)).slice(2).map(({ type, data }) => [type, data['trigger_ids'] ?? data['name']]),
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
  expect((await messagesOf(account)).map(({ type }) => type)).toEqual(['trigger.blind'])
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
  expect((await messagesOf(account)).map(({ data }) => data['block'])).toMatchObject([
    { number: Number(crossed), finality: 'finalized' },
  ])
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
  const messages = await messagesOf(account)
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
  start({ holder: 'blind' })
  await evaluated(await meter.mine())
  rpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
  const crossed = await meter.units('left', 100)
  await runRounds()
  nowMs += 15_000
  await runRounds()
  rpc.rule(() => undefined)
  // It still holds the lease, for want of another.
  await evaluated(crossed)
  expect(await told(account)).toEqual([['trigger.fired', 1, '1.00']])

  rpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
  start({ holder: 'seeing', url: meter.url })
  const cleared = await meter.units('left', 120)
  nowMs += 14_999
  await runRounds()
  expect(await holder()).toBe('blind')
  nowMs += 5_000
  await runRounds()
  expect(await holder()).toBe('seeing')
  await evaluated(cleared)
  expect(await told(account)).toEqual([
    ['trigger.fired', 1, '1.00'],
    ['trigger.cleared', 2, '1.20'],
  ])
  // The blind one stays away for a lease longer than others would.
  await db.run('update watch_cursor set lease_until = now()', [])
  await jobs[0]?.round(never)
  expect(await holder()).toBe('seeing')
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
    nowMs += 5_000
    await meter.mine()
    await runRounds()
  }
  const crossed = await meter.units('unread', 100)
  await evaluated(crossed)
  expect(await told(account)).toEqual([['trigger.fired', 1, '1.00']])
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
  const messages = await messagesOf(account)
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
  rpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
  const changed: bigint[] = []
  for (const units of [6, 7]) {
    changed.push(await meter.units('far back', units))
    await meter.rpc.call('anvil_mine', toHex(600), '0x1')
  }
  rpc.rule(() => undefined)
  await evaluated(await meter.mine())
  const blocks = (await messagesOf(account)).map(({ data }) => (data['block'] as { number: number }).number)
  expect(blocks).toEqual(changed.map(Number))
}, 30_000)
