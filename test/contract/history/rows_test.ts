import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import type { Database } from '../../../src/db/database.ts'
import {
  LENDING_EVENT_TYPES,
  LENDING_EVENTS,
  type LendingEvent,
  readLendingEvents,
} from '../../../src/family/lending/lending_event.ts'
import {
  POSITION_FLOWS,
  type PositionFlow,
  positionSubject,
  readPositionFlows,
} from '../../../src/family/liquidity/position_history/position_flow.ts'
import { createCoverage, forgetHistory } from '../../../src/history/coverage.ts'
import { storeInChunks } from '../../../src/history/stored_part.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'

const POOL = `0x${'aa'.repeat(20)}` as Hex
const ALICE = `0x${'a1'.repeat(20)}` as Hex
const BOB = `0x${'b0'.repeat(20)}` as Hex
const STREAM = 'lending'
const WANTED = { fromBlock: 100, toBlock: 200 }
const HUGE = 2n ** 256n - 1n

let database: TestDatabase
let chains = 0
let target = { chainId: 0, contract: POOL, startBlock: 100 }

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
beforeEach(() => {
  target = { chainId: ++chains, contract: POOL, startBlock: 100 }
})
afterAll(() => database.close(), 60_000)

function event(changes: Partial<LendingEvent> = {}): LendingEvent {
  return {
    wallet: ALICE,
    market: null,
    block: 120,
    logIndex: 3,
    leg: 0,
    kind: 'supply',
    asset: POOL,
    amount: HUGE,
    counterparty: BOB,
    transactionHash: `0x${'12'.repeat(32)}`,
    timestampSec: 1_700_000_000,
    indexRay: 10n ** 27n,
    ...changes,
  }
}

function storeEvents(
  rows: readonly LendingEvent[],
  fromBlock: number,
  toBlock: number,
  subjects: Hex[] | null = [ALICE],
) {
  return LENDING_EVENTS.store(database.db, {
    target,
    stream: STREAM,
    subjects,
    fromBlock,
    toBlock,
    witnesses: 1,
    epoch: 0,
    rows,
  })
}

function readEvents(changes: Partial<Parameters<typeof readLendingEvents>[1]> = {}) {
  const options = {
    target,
    stream: STREAM,
    wallet: ALICE,
    toBlock: 200,
    kinds: LENDING_EVENT_TYPES,
    skip: 0,
    max: 10,
    ...changes,
  }
  return readLendingEvents(database.db, options)
}

test('events come back as they were stored, newest first, with the debt of a liquidation before its collateral', async () => {
  const rows = [
    event({ block: 120 }),
    event({
      block: 150,
      logIndex: 9,
      leg: 1,
      kind: 'liquidation',
      counterparty: null,
      timestampSec: null,
      indexRay: null,
    }),
    event({ block: 150, logIndex: 9, leg: 0, kind: 'liquidation', amount: 0n }),
    event({ block: 150, logIndex: 10, kind: 'repay' }),
  ]
  const received = event({ block: 160, leg: 1, kind: 'receive' })
  await storeEvents([...rows, received, event({ wallet: BOB })], 100, 200)
  const newestFirst = [rows[3], rows[2], rows[1], rows[0]] as readonly LendingEvent[]
  expect(await readEvents()).toEqual({ total: 4, events: newestFirst })
  expect(await readEvents({ skip: 1, max: 2 })).toEqual({ total: 4, events: newestFirst.slice(1, 3) })
  expect(await readEvents({ skip: 9 })).toEqual({ total: 4, events: [] })
  expect(await readEvents({ kinds: ['liquidation'] })).toEqual({ total: 2, events: newestFirst.slice(1, 3) })
  expect(await readEvents({ kinds: ['receive'] })).toEqual({ total: 1, events: [received] })
  expect(await readEvents({ toBlock: 149 })).toEqual({ total: 1, events: newestFirst.slice(3) })
})

test('a history with a gap is not given', async () => {
  expect(await readEvents()).toBeUndefined()
  await storeEvents([event()], 110, 200)
  expect(await readEvents()).toBeUndefined()
  await storeEvents([], 100, 108)
  expect(await readEvents()).toBeUndefined()
  await storeEvents([], 100, 109)
  expect((await readEvents())?.total).toBe(1)
  expect(await readEvents({ toBlock: 201 })).toBeUndefined()
  expect(await readEvents({ wallet: BOB })).toBeUndefined()
  expect(await readEvents({ stream: 'other' })).toBeUndefined()
})

test('the global history fills the gaps of a wallet', async () => {
  await storeEvents([event()], 100, 150)
  await storeEvents([event({ wallet: BOB, block: 170 }), event({ block: 180 })], 151, 200, null)
  expect((await readEvents())?.total).toBe(2)
  expect(await readEvents({ wallet: BOB })).toBeUndefined()
  await storeEvents([], 90, 160, null)
  expect((await readEvents({ wallet: BOB }))?.total).toBe(1)
})

test('storing again changes nothing', async () => {
  await storeEvents([event()], 100, 200)
  await storeEvents([event({ amount: 1n }), event({ logIndex: 4 })], 150, 250)
  const page = await readEvents({ toBlock: 250 })
  expect(page?.events.map(({ logIndex, amount }) => [logIndex, amount])).toEqual([
    [4, HUGE],
    [3, HUGE],
  ])
})

test('rows and what is complete with them are stored together or not at all', async () => {
  const bad = event({ logIndex: 7, amount: -1n })
  await expect(storeEvents([event(), bad], 100, 200)).rejects.toThrow()
  expect(await readEvents()).toBeUndefined()
  await storeEvents([], 100, 200)
  expect((await readEvents())?.total).toBe(0)
})

test('flows of a position come back as they were stored, oldest first', async () => {
  const flow = (changes: Partial<PositionFlow>): PositionFlow => ({
    tokenId: 7n,
    block: 120,
    logIndex: 1,
    kind: 'increase',
    liquidity: 2n ** 128n - 1n,
    amount0: HUGE,
    amount1: 0n,
    transactionHash: `0x${'34'.repeat(32)}`,
    timestampSec: null,
    ...changes,
  })
  const rows = [flow({ block: 130, kind: 'collect', liquidity: 0n, timestampSec: 5 }), flow({ tokenId: 8n }), flow({})]
  const part = {
    target,
    stream: 'flow',
    subjects: [positionSubject(7n)],
    fromBlock: 110,
    toBlock: 200,
    witnesses: 2,
    epoch: 0,
    rows,
  }
  await POSITION_FLOWS.store(database.db, part)
  const options = { target, stream: 'flow', tokenId: 7n, fromBlock: 110, toBlock: 200, max: 10 }
  expect(await readPositionFlows(database.db, options)).toEqual([flow({}), ...rows.slice(0, 1)])
  expect(await readPositionFlows(database.db, { ...options, fromBlock: 109 })).toBeUndefined()
  expect(await readPositionFlows(database.db, { ...options, tokenId: 8n })).toBeUndefined()
  // One endpoint's word changes nothing of it, and is itself replaced by that of two.
  await POSITION_FLOWS.store(database.db, { ...part, witnesses: 1, rows: [flow({ block: 140 })] })
  expect(await readPositionFlows(database.db, options)).toEqual([flow({}), ...rows.slice(0, 1)])
  const other = {
    ...part,
    subjects: [positionSubject(9n)],
    rows: [flow({ tokenId: 9n }), flow({ tokenId: 9n, block: 150 })],
  }
  await POSITION_FLOWS.store(database.db, { ...other, witnesses: 1 })
  await POSITION_FLOWS.store(database.db, { ...other, rows: other.rows.slice(0, 1) })
  expect(await readPositionFlows(database.db, { ...options, tokenId: 9n })).toEqual(other.rows.slice(0, 1))
  expect(await readPositionFlows(database.db, options)).toEqual([flow({}), ...rows.slice(0, 1)])
})

test('thousands of flows are stored by several statements and read by several, none twice', async () => {
  const rows = Array.from(
    { length: 4_321 },
    (_, index): PositionFlow => ({
      tokenId: 7n,
      block: 110 + Math.floor(index / 700),
      logIndex: index,
      kind: 'increase',
      liquidity: 1n,
      amount0: BigInt(index),
      amount1: 0n,
      transactionHash: `0x${'34'.repeat(32)}`,
      timestampSec: 5,
    }),
  )
  let statements = 0
  const counted: Database = {
    ...database.db,
    run(...asked) {
      statements++
      return database.db.run(...asked)
    },
  }
  const part = { target, stream: 'flow', subjects: [positionSubject(7n)], fromBlock: 100, toBlock: 200 }
  await POSITION_FLOWS.store(counted, { ...part, witnesses: 2, epoch: 0, rows })
  expect(statements).toBe(2)
  statements = 0
  const asked = { target, stream: 'flow', tokenId: 7n, fromBlock: 100, toBlock: 200 }
  expect(await readPositionFlows(counted, { ...asked, max: 5_001 })).toEqual(rows)
  expect(statements).toBe(3)
  expect(await readPositionFlows(database.db, { ...asked, max: 4_100 })).toEqual(rows.slice(0, 4_100))
})

describe('storeInPieces()', () => {
  /** Blocks and number of rows of each piece, in the order of the statements. */
  async function readPieces(blocks: readonly number[]): Promise<readonly (readonly [number, number, number])[]> {
    const pieces: [number, number, number][] = []
    const rows = blocks.map((block, index) => ({ block, index }))
    const part = { target, stream: STREAM, subjects: null, ...WANTED, witnesses: 2, epoch: 0, rows }
    const stored: unknown[] = []
    const store = storeInChunks<(typeof rows)[number]>(async (_, { fromBlock, toBlock, rows: some }) => {
      pieces.push([fromBlock, toBlock, some.length])
      stored.unshift(...some)
      expect(some.every(({ block }) => fromBlock <= block && block <= toBlock)).toBe(true)
      return true
    })
    await store(database.db, part)
    expect(stored).toEqual(rows)
    return pieces
  }

  test('a part of few rows is one statement', async () => {
    expect(await readPieces([])).toEqual([[100, 200, 0]])
    expect(await readPieces([100, 200])).toEqual([[100, 200, 2]])
  })

  test('more rows are several, the newest blocks first, and no block is in two', async () => {
    const blocks = Array.from({ length: 5_000 }, (_, index) => 101 + Math.floor(index / 100))
    expect(await readPieces(blocks)).toEqual([
      [131, 200, 2_000],
      [111, 130, 2_000],
      [100, 110, 1_000],
    ])
  })

  test('a block of more rows than a statement should have is one piece', async () => {
    const crowd = Array.from({ length: 4_500 }, () => 150)
    expect(await readPieces([100, ...crowd, 160])).toEqual([
      [150, 200, 4_501],
      [100, 149, 1],
    ])
    expect(await readPieces(Array.from({ length: 4_500 }, () => 100))).toEqual([[100, 200, 4_500]])
  })
})

test('coverage returns the ranges of subjects and of the global history', async () => {
  const coverage = createCoverage(database.db, 'me')
  const name = { target, stream: STREAM }
  expect(await coverage.find(name, [ALICE, null])).toEqual(new Map())
  await storeEvents([], 100, 120)
  await storeEvents([], 121, 130)
  await storeEvents([], 140, 150)
  await storeEvents([], 1, 5, null)
  await coverage.recordCheck(name, ALICE, 120)
  await coverage.recordCheck(name, ALICE, 110)
  const ranges = [
    { fromBlock: 100, toBlock: 130 },
    { fromBlock: 140, toBlock: 150 },
  ]
  expect(await coverage.find(name, [ALICE, BOB, null])).toEqual(
    new Map([
      [ALICE as Hex | null, { ranges, agreed: [], checkedTo: 120, isLeased: false }],
      [null, { ranges: [{ fromBlock: 1, toBlock: 5 }], agreed: [], checkedTo: -1, isLeased: false }],
    ]),
  )
  await coverage.lease(name, null, { fromBlock: 1, toBlock: 10 })
  const mine = (await coverage.listProgress()).filter((each) => each.target.chainId === target.chainId)
  expect(mine).toEqual([
    {
      target: { chainId: target.chainId, contract: POOL },
      stream: STREAM,
      subjects: 1,
      globalRanges: [{ fromBlock: 1, toBlock: 5 }],
      requested: { blocks: 10, missing: 5 },
      anchor: undefined,
      isStopped: false,
    },
  ])
})

test('one process at a time has the work on a subject', async () => {
  const [mine, other] = ['me', 'other'].map((holder) => createCoverage(database.db, holder))
  const name = { target, stream: STREAM }
  expect(await mine?.lease(name, [ALICE, BOB], WANTED)).toEqual([ALICE, BOB])
  expect(await mine?.lease(name, [ALICE], WANTED)).toEqual([ALICE])
  expect(await other?.lease(name, [ALICE], WANTED)).toEqual([])
  expect(await other?.lease(name, null, WANTED)).toEqual([null])
  expect((await other?.find(name, [ALICE]))?.get(ALICE)?.isLeased).toBe(true)
  expect((await mine?.find(name, [ALICE]))?.get(ALICE)?.isLeased).toBe(false)
  await other?.release(name, [ALICE])
  expect(await other?.lease(name, [ALICE], WANTED)).toEqual([])
  await mine?.release(name, [ALICE])
  expect(await other?.lease(name, [ALICE, BOB], WANTED)).toEqual([ALICE])
  // What a process that died left is free when its time is over.
  await database.db.run("update lease set until = now() - interval '1 second'", [])
  expect(await mine?.lease(name, [ALICE, BOB], WANTED)).toEqual([ALICE, BOB])
})

test('the anchor moves forward only; a stopped history stores nothing and keeps its rows', async () => {
  const coverage = createCoverage(database.db, 'me')
  const hash = (digit: string) => `0x${digit.repeat(64)}` as Hex
  const { chainId } = target
  const anchor = async () => (await coverage.readAnchorState(chainId)).anchor
  const move = (number: number, digit: string) =>
    coverage.moveAnchor(chainId, { number, hash: hash(digit), witnesses: 1 }, 0)
  expect(await coverage.readAnchorState(chainId)).toEqual({ anchor: undefined, epoch: 0 })
  await move(200, 'a')
  await move(190, 'b')
  const first = { number: 200, hash: hash('a'), witnesses: 1, previous: undefined, isStopped: false }
  expect(await anchor()).toEqual(first)
  await storeEvents([event()], 100, 200)
  await coverage.stop(chainId, { number: 200, hash: hash('c') })
  expect((await anchor())?.isStopped).toBe(false)
  await coverage.stop(chainId, { number: 200, hash: hash('a') })
  expect((await anchor())?.isStopped).toBe(true)
  await move(300, 'd')
  await expect(storeEvents([event({ block: 201 })], 201, 210)).rejects.toThrow('stopped')
  expect(await readEvents({ toBlock: 210 })).toBeUndefined()
  expect((await readEvents())?.total).toBe(1)
  expect(await anchor()).toEqual({ ...first, isStopped: true })
  await coverage.resume(chainId, 0)
  await move(300, 'd')
  expect(await anchor()).toMatchObject({ number: 300, previous: { number: 200, hash: hash('a') }, isStopped: false })
})

test('a rolled-back history deletes later rows, and stores no rows that were read before the rollback', async () => {
  const coverage = createCoverage(database.db, 'me')
  const hash = (digit: string) => `0x${digit.repeat(64)}` as Hex
  const { chainId } = target
  await coverage.moveAnchor(chainId, { number: 200, hash: hash('a'), witnesses: 2 }, 0)
  await storeEvents([event({ block: 150 }), event({ block: 180 })], 100, 200)
  expect(await coverage.rollBack(chainId, { number: 160, hash: hash('b'), witnesses: 2 }, 1)).toBe(false)
  expect(await coverage.rollBack(chainId, { number: 160, hash: hash('b'), witnesses: 2 }, 0)).toBe(true)
  expect(await coverage.rollBack(chainId, { number: 150, hash: hash('b'), witnesses: 2 }, 0)).toBe(false)
  expect(await coverage.readAnchorState(chainId)).toMatchObject({
    anchor: { number: 160, previous: undefined },
    epoch: 1,
  })
  expect((await coverage.find({ target, stream: STREAM }, [ALICE])).get(ALICE)?.ranges).toEqual([
    { fromBlock: 100, toBlock: 160 },
  ])
  expect((await readEvents({ toBlock: 160 }))?.events.map(({ block }) => block)).toEqual([150])
  await expect(storeEvents([event({ block: 180 })], 161, 200)).rejects.toThrow('rolled back')
  // An anchor that was found before does not come back.
  await coverage.moveAnchor(chainId, { number: 200, hash: hash('a'), witnesses: 2 }, 0)
  expect((await coverage.readAnchorState(chainId)).anchor?.number).toBe(160)
  await forgetHistory(database.db, chainId)
  expect(await coverage.readAnchorState(chainId)).toEqual({ anchor: undefined, epoch: 2 })
  expect(await coverage.find({ target, stream: STREAM }, [ALICE])).toEqual(new Map())
})

test('what two endpoints agreed on replaces one’s word, and one’s word never replaces that', async () => {
  const coverage = createCoverage(database.db, 'me')
  const store = (witnesses: number, rows: readonly LendingEvent[], subjects: readonly Hex[] | null) =>
    LENDING_EVENTS.store(database.db, {
      target,
      stream: STREAM,
      subjects,
      fromBlock: 100,
      toBlock: 200,
      witnesses,
      epoch: 0,
      rows,
    })
  const blocks = async () => (await readEvents({ toBlock: 200 }))?.events.map(({ block }) => block).sort()
  for (const subjects of [[ALICE], null]) {
    await store(1, [event({ block: 150 }), event({ block: 160 })], subjects)
    const found = (await coverage.find({ target, stream: STREAM }, [ALICE, null])).get(subjects?.[0] ?? null)
    expect(found).toMatchObject({ ranges: [{ fromBlock: 100, toBlock: 200 }], agreed: [] })
    await store(2, [event({ block: 150 }), event({ block: 170 })], subjects)
    expect(await blocks()).toEqual([150, 170])
    await store(1, [event({ block: 180 })], [ALICE])
    await store(1, [event({ block: 190 })], null)
    expect(await blocks()).toEqual([150, 170])
    const agreed = (await coverage.find({ target, stream: STREAM }, [ALICE, null])).get(subjects?.[0] ?? null)?.agreed
    expect(agreed).toEqual([{ fromBlock: 100, toBlock: 200 }])
    await forgetHistory(database.db, target.chainId)
    await database.db.run('delete from history_chain', [])
  }
})
