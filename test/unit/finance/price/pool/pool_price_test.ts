import { expect, test } from 'bun:test'
import type { Look } from '../../../../../src/finance/price/pool/depth.ts'
import { computePoolPrice, type PoolReading } from '../../../../../src/finance/price/pool/pool_price.ts'

const Q96 = 2n ** 96n
/** Dollars of 18 digits, as is the token: a tick of 0 is a dollar. */
const QUOTE = {
  address: '0x0000000000000000000000000000000000000002',
  decimals: 18,
  price: { units: 1n, scale: 0, source: 'feed' },
} as const
const TOKEN = { decimals: 18 }
const LIQUIDITY = 10n ** 24n
const STANDING = { liquidity: LIQUIDITY, meanTick: 0, recentTick: 0 }
const DEEP: Look = { two: 25_000n * 10n ** 18n, half: 290_000n * 10n ** 18n, bestBidX96: Q96 }
const EMPTY: Look = { two: 0n, half: 0n, bestBidX96: undefined }

function read(looks: readonly Look[], change: Partial<PoolReading> = {}): PoolReading {
  const row = {
    pool: '0x0000000000000000000000000000000000000003',
    quote: QUOTE.address,
    tier: 2,
    isToken1: false,
  } as const
  return { row, quote: QUOTE, standing: STANDING, looks, spotX96: Q96, hasPast: true, ...change }
}

/** Marks, and whether there is a price and a bound. */
function tell(pool: PoolReading) {
  const outcome = computePoolPrice(TOKEN, [pool])
  const { marks = [] } = outcome
  return outcome.kind === 'missing' ? [...marks] : [...marks, outcome.boundUsd.units > 0n ? 'bound' : 'no bound']
}

test('one of four looks may find nothing, and two may not', () => {
  expect(tell(read([DEEP, DEEP, DEEP, DEEP]))).toEqual(['bound'])
  expect(tell(read([EMPTY, DEEP, DEEP, DEEP]))).toEqual(['bound'])
  expect(tell(read([DEEP, DEEP, EMPTY, DEEP]))).toEqual(['bound'])
  // What stood still tells the price, but nothing counts.
  expect(tell(read([EMPTY, DEEP, EMPTY, DEEP]))).toEqual(['thin', 'no bound'])
})

test('a single look, beside logs, has to find it', () => {
  expect(tell(read([DEEP]))).toEqual(['bound'])
  expect(tell(read([EMPTY]))).toEqual(['thin', 'no bound'])
})

test('without a past the price now is a debt’s, and no asset counts', () => {
  const young = read([DEEP], { hasPast: false, standing: undefined })
  expect(tell(young)).toEqual(['young', 'no bound'])
  expect(tell({ ...young, looks: [EMPTY], spotX96: undefined })).toEqual(['gone'])
})
