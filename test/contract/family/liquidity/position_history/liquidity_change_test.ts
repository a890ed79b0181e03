import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import {
  type FoundAmounts,
  LIQUIDITY_CHANGES,
  type LiquidityChange,
  readChanges,
  storeAmounts,
} from '../../../../../src/family/liquidity/position_history/liquidity_change.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'

const POOL: Hex = `0x${'ab'.repeat(32)}`
const OTHER: Hex = `0x${'cd'.repeat(32)}`
const STREAM = 'changes'
const HUGE = 2n ** 256n - 1n

let database: TestDatabase
let chains = 0
let target = { chainId: 0, contract: `0x${'aa'.repeat(20)}` as Hex, startBlock: 1 }

beforeAll(async () => {
  database = await testDatabase()
}, 60_000)
beforeEach(() => {
  target = { ...target, chainId: ++chains }
})
afterAll(() => database.close(), 60_000)

function change(changes: Partial<LiquidityChange> = {}): LiquidityChange {
  return {
    pool: POOL,
    tokenId: HUGE,
    block: 120,
    logIndex: 3,
    tickLower: -887_272,
    tickUpper: 887_272,
    liquidity: -(2n ** 127n),
    transactionHash: `0x${'12'.repeat(32)}`,
    timestampSec: 1_700_000_000,
    ...changes,
  }
}

const FOUND: FoundAmounts = {
  principal: { amount0: HUGE, amount1: 0n },
  fees: { amount0: 1n, amount1: HUGE },
  sqrtPriceX96: 2n ** 160n - 1n,
  inside: { growth0: HUGE, growth1: 7n },
  witnesses: 1,
}

function store(
  rows: readonly LiquidityChange[],
  options: { readonly subjects?: readonly Hex[] | null; readonly witnesses?: number } = {},
) {
  const { subjects = [POOL], witnesses = 1 } = options
  const blocks = { fromBlock: 100, toBlock: 200 }
  return LIQUIDITY_CHANGES.store(database.db, {
    target,
    stream: STREAM,
    subjects,
    ...blocks,
    witnesses,
    epoch: 0,
    rows,
  })
}

function read(
  options: { readonly pool?: Hex; readonly tokenId?: bigint; readonly toBlock?: number; readonly max?: number } = {},
) {
  const asked = { pool: POOL, tokenId: HUGE, toBlock: 200, max: 5_000, ...options }
  return readChanges(database.db, { target, stream: STREAM, fromBlock: 100, ...asked })
}

test('changes come back as they were, in the order of their logs, of one position of one pool', async () => {
  const rows = [
    change({ timestampSec: null }),
    change({ logIndex: 9, liquidity: 0n }),
    change({ block: 130, liquidity: 2n ** 127n - 1n }),
  ]
  await store([...rows, change({ tokenId: 5n, logIndex: 4 })])
  expect(await read()).toEqual(rows)
  expect(await read({ toBlock: 120 })).toEqual(rows.slice(0, 2))
  expect(await read({ tokenId: 5n })).toEqual([change({ tokenId: 5n, logIndex: 4 })])
  expect(await read({ toBlock: 201 })).toBeUndefined()
  expect(await read({ pool: OTHER })).toBeUndefined()
})

test('thousands of changes are read in full, page by page', async () => {
  const rows = Array.from({ length: 2_300 }, (_, index) =>
    change({ block: 100 + Math.floor(index / 25), logIndex: index % 25 }),
  )
  await store(rows, { subjects: null })
  expect(await read()).toEqual(rows)
}, 60_000)

test('amounts are stored with their change, and amounts with more witnesses replace those with fewer', async () => {
  await store([change()])
  const name = { target, tokenId: HUGE }
  await storeAmounts(database.db, name, [{ ...change(), amounts: FOUND }])
  expect(await read()).toEqual([{ ...change(), amounts: FOUND }])
  const agreed = { ...FOUND, fees: { amount0: 2n, amount1: 3n }, inside: undefined, witnesses: 2 }
  await storeAmounts(database.db, name, [{ ...change(), amounts: agreed }])
  await storeAmounts(database.db, name, [{ ...change(), amounts: FOUND }])
  expect(await read()).toEqual([{ ...change(), amounts: agreed }])
})

test('changes of two endpoints replace those of one, and unchanged rows keep their amounts', async () => {
  const invented = change({ logIndex: 50, liquidity: 5n })
  const kept = change({ pool: OTHER, logIndex: 60 })
  await store([change(), invented])
  await store([kept], { subjects: [OTHER] })
  await storeAmounts(database.db, { target, tokenId: HUGE }, [{ ...change(), amounts: FOUND }])
  const missed = change({ block: 140 })
  await store([change(), missed], { witnesses: 2 })
  expect(await read()).toEqual([{ ...change(), amounts: FOUND }, missed])
  expect(await read({ pool: OTHER })).toEqual([kept])
  // A single endpoint changes nothing afterwards.
  await store([invented])
  expect(await read()).toEqual([{ ...change(), amounts: FOUND }, missed])
  // Another pool's changes came from one endpoint; a global read replaces all, and drops the amounts of changed rows.
  const other = change({ liquidity: 9n })
  await store([other], { subjects: null, witnesses: 2 })
  expect(await read()).toEqual([other])
  expect(await read({ pool: OTHER })).toEqual([])
})

test.each<[string, Partial<LiquidityChange>, Partial<LiquidityChange>, FoundAmounts | undefined]>([
  ['other ticks, with what was computed of them', { tickLower: -60 }, {}, undefined],
  ['another time, and its amounts stay', { timestampSec: 1 }, {}, FOUND],
  ['no time, and its amounts stay', { timestampSec: null }, {}, FOUND],
  ['a time that the other does not tell, and its amounts stay', {}, { timestampSec: null }, FOUND],
])('the word of two replaces that of one: %s', async (_, invented, told, amounts) => {
  await store([change(invented)])
  await storeAmounts(database.db, { target, tokenId: HUGE }, [{ ...change(invented), amounts: FOUND }])
  await store([change(told)], { witnesses: 2 })
  expect(await read()).toEqual([amounts === undefined ? change(told) : { ...change(told), amounts }])
})
