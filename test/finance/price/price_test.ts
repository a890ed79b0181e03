import { describe, expect, test } from 'bun:test'
import type { ChainPrices } from '../../../src/finance/chain.ts'
import { type FeedRound, sumE6, type UsdAnswers, usdPriceOf, usdValue } from '../../../src/finance/price/price.ts'
import { formatExact } from '../../../src/lib/number/decimal.ts'

const ROUND: FeedRound = { answer: 345_612_345_678n, decimals: 8, updatedAtSec: 1_700_000_000n }

test('usdValue() is exact', () => {
  const price = { units: 345_612_345_678n, scale: 8, source: 'feed' } as const
  const value = usdValue(1_500_000_000_000_000_001n, { decimals: 18, price })
  expect(formatExact(value.units, value.scale)).toBe('5184.18518517000000345612345678')
  const dollar = usdValue(1_234_567n, { decimals: 6, price: { units: 1n, scale: 0, source: 'stablecoin' } })
  expect(formatExact(dollar.units, dollar.scale)).toBe('1.234567')
})

const TOKEN = '0x000000000000000000000000000000000000dEaD'
const FED: ChainPrices = {
  usdFeeds: { [TOKEN]: { feed: '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6', heartbeatSec: 3_600 } },
  stablecoins: [TOKEN],
}
const UNFED: ChainPrices = { usdFeeds: {}, stablecoins: [] }
const LISTED: ChainPrices = { usdFeeds: {}, stablecoins: [TOKEN] }
const STALE = { blockTimestampSec: ROUND.updatedAtSec + 3_901n }
const OTHER = { source: '0x000000000000000000000000000000000000bEEF', price: 98n } as const
/** Every source answers. */
const ANSWERS: UsdAnswers = {
  round: ROUND,
  aave: { ...OTHER, price: 99_000_000n },
  blockTimestampSec: ROUND.updatedAtSec + 3_600n,
}

test('usdPriceOf() gives all digits of a feed’s answer', () => {
  const priceOf = (change: Partial<FeedRound>) =>
    usdPriceOf(TOKEN, { prices: FED, answers: { ...ANSWERS, round: { ...ROUND, ...change }, aave: undefined } })
  expect(priceOf({})).toEqual({ kind: 'price', price: { units: 345_612_345_678n, scale: 8, source: 'feed' } })
  expect(priceOf({ answer: 1n, decimals: 18 })).toMatchObject({ price: { units: 1n, scale: 18 } })
  expect(priceOf({ decimals: 0 })).toMatchObject({ price: { scale: 0 } })
})

test('usdPriceOf() takes a round that is five minutes late, and not one that is a second later', () => {
  const at = (ageSec: bigint) => ({ ...ANSWERS, aave: undefined, blockTimestampSec: ROUND.updatedAtSec + ageSec })
  expect(usdPriceOf(TOKEN, { prices: FED, answers: at(3_900n) }).kind).toBe('price')
  expect(usdPriceOf(TOKEN, { prices: FED, answers: at(3_901n) }).kind).toBe('missing')
})

test.each([
  ['nothing', 'answers nothing above zero', { answer: 0n }],
  ['a negative price', 'answers nothing above zero', { answer: -1n }],
  ['a round that never finished', 'is stale', { updatedAtSec: 0n }],
  ['a later block', 'answers from the future', { updatedAtSec: ROUND.updatedAtSec + 3_601n }],
  ['negative decimals', 'has unusable decimals', { decimals: -1 }],
  ['37 decimals', 'has unusable decimals', { decimals: 37 }],
  ['half a decimal', 'has unusable decimals', { decimals: 8.5 }],
  ['no number of decimals', 'has unusable decimals', { decimals: Number.NaN }],
] as [string, string, Partial<FeedRound>][])(
  'usdPriceOf() gives no price from a feed with %s: it %s',
  (_, why, change) => {
    const answers = { ...ANSWERS, round: { ...ROUND, ...change }, aave: undefined }
    expect(usdPriceOf(TOKEN, { prices: FED, answers })).toEqual({ kind: 'missing', because: `its price feed ${why}` })
  },
)

test.each([
  ['the feed before all', FED, {}, 'feed', ROUND.answer, 8],
  ["Aave's oracle if there is no feed, to 8 decimals", UNFED, {}, 'aave_oracle', 99_000_000n, 8],
  ["Aave's oracle before the list", LISTED, {}, 'aave_oracle', 99_000_000n, 8],
  ['a dollar if only the list knows the token', LISTED, { aave: undefined }, 'stablecoin', 1n, 0],
] as [string, ChainPrices, Partial<UsdAnswers>, string, bigint, number][])(
  'usdPriceOf() takes %s, and says so',
  (_, prices, change, source, units, scale) => {
    const outcome = usdPriceOf(TOKEN, { prices, answers: { ...ANSWERS, ...change } })
    expect(outcome).toEqual({ kind: 'price', price: { units, scale, source } } as never)
  },
)

test.each([
  ['a feed that does not answer', FED, { round: undefined }, 'its price feed does not answer'],
  ['a feed that is stale', FED, STALE, 'its price feed is stale'],
  ['a feed of zero', FED, { round: { ...ROUND, answer: 0n } }, 'its price feed answers nothing above zero'],
  ['a feed of the future', FED, { blockTimestampSec: 1n }, 'its price feed answers from the future'],
  ['a feed that is stale if Aave has no source', FED, { ...STALE, aave: undefined }, 'its price feed is stale'],
  [
    'a source of Aave that fails',
    LISTED,
    { aave: { ...OTHER, price: undefined } },
    "Aave's oracle has no price for it",
  ],
  ['a price of zero at Aave', LISTED, { aave: { ...OTHER, price: 0n } }, "Aave's oracle has no price for it"],
  ['a token without a source', UNFED, { aave: undefined }, 'no source of its price is configured'],
] as [string, ChainPrices, Partial<UsdAnswers>, string][])(
  'usdPriceOf() gives no price for %s, even if Aave or the list has one',
  (_, prices, change, because) => {
    expect(usdPriceOf(TOKEN, { prices, answers: { ...ANSWERS, ...change } })).toEqual({ kind: 'missing', because })
  },
)

describe('sumE6()', () => {
  test('rounds once, half away from zero, after adding values of different scales', () => {
    expect(sumE6([])).toBe(0n)
    expect(sumE6([{ units: 5n, scale: 7 }])).toBe(1n)
    expect(
      sumE6([
        { units: 4n, scale: 7 },
        { units: 1n, scale: 8 },
        { units: 3n, scale: 0 },
      ]),
    ).toBe(3_000_000n)
    expect(
      sumE6([
        { units: 4n, scale: 7 },
        { units: 10n, scale: 8 },
      ]),
    ).toBe(1n)
  })
})
