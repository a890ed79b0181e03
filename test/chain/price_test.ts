import { expect, test } from 'bun:test'
import type { Address } from 'viem'
import type { ChainPrices } from '../../src/chain/chain.ts'
import { CHAINS } from '../../src/chain/chains.ts'
import {
  type FeedAnswer,
  type PriceProblem,
  priceFromFeed,
  STABLECOIN_PRICE,
  type UsdAnswers,
  usdPriceOf,
  usdSourceOf,
  usdValue,
} from '../../src/chain/price.ts'
import { formatExact } from '../../src/lib/decimal.ts'

const FEED: FeedAnswer = {
  answer: 345_612_345_678n,
  decimals: 8,
  updatedAtSec: 1_700_000_000n,
  blockTimestampSec: 1_700_003_600n,
  heartbeatSec: 3_600,
}

test('priceFromFeed() gives all digits of the answer', () => {
  expect(priceFromFeed(FEED)).toEqual({ kind: 'price', price: { units: 345_612_345_678n, scale: 8, source: 'feed' } })
  expect(priceFromFeed({ ...FEED, answer: 1n, decimals: 18 })).toMatchObject({ price: { units: 1n, scale: 18 } })
  expect(priceFromFeed({ ...FEED, decimals: 0 })).toMatchObject({ price: { scale: 0 } })
})

test('priceFromFeed() accepts an update that is five minutes late, and not a second more', () => {
  expect(priceFromFeed({ ...FEED, blockTimestampSec: FEED.updatedAtSec + 3_900n }).kind).toBe('price')
  const late = priceFromFeed({ ...FEED, blockTimestampSec: FEED.updatedAtSec + 3_901n })
  expect(late).toEqual({ kind: 'unusable', problem: 'stale' })
})

test.each([
  ['nothing', 'not_positive', { answer: 0n }],
  ['a negative price', 'not_positive', { answer: -1n }],
  ['a round that never finished', 'stale', { updatedAtSec: 0n }],
  ['a later block', 'from_the_future', { updatedAtSec: FEED.blockTimestampSec + 1n }],
  ['negative decimals', 'bad_decimals', { decimals: -1 }],
  ['37 decimals', 'bad_decimals', { decimals: 37 }],
  ['half a decimal', 'bad_decimals', { decimals: 8.5 }],
  ['no number of decimals', 'bad_decimals', { decimals: Number.NaN }],
] as [string, PriceProblem, Partial<FeedAnswer>][])(
  'priceFromFeed() makes no price of %s: %s',
  (_, problem, change) => {
    expect(priceFromFeed({ ...FEED, ...change })).toEqual({ kind: 'unusable', problem })
  },
)

test('usdSourceOf() prefers a feed, takes a listed stablecoin for a dollar, and knows nothing else', () => {
  const bnb = CHAINS.find(({ id }) => id === 56)
  const ethereum = CHAINS.find(({ id }) => id === 1)
  if (bnb === undefined || ethereum === undefined) throw new Error('Chains are missing')
  const usdc = usdSourceOf(ethereum.prices, '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48')
  expect(usdc).toMatchObject({ kind: 'feed', feed: { feed: '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6' } })
  expect(usdSourceOf(bnb.prices, '0x55d398326f99059fF775485246999027B3197955')).toEqual({ kind: 'stablecoin' })
  expect(usdSourceOf(bnb.prices, '0x000000000000000000000000000000000000dEaD')).toEqual({ kind: 'none' })
})

test('usdValue() is exact', () => {
  const price = { units: 345_612_345_678n, scale: 8, source: 'feed' } as const
  const value = usdValue(1_500_000_000_000_000_001n, { decimals: 18, price })
  expect(formatExact(value.units, value.scale)).toBe('5184.18518517000000345612345678')
  const dollar = usdValue(1_234_567n, { decimals: 6, price: STABLECOIN_PRICE })
  expect(formatExact(dollar.units, dollar.scale)).toBe('1.234567')
})

const TOKEN = '0x000000000000000000000000000000000000dEaD'
const FED: ChainPrices = {
  usdFeeds: { [TOKEN]: { feed: '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6', heartbeatSec: 3_600 } },
  stablecoins: [TOKEN],
}
const UNFED: ChainPrices = { usdFeeds: {}, stablecoins: [] }
const LISTED: ChainPrices = { usdFeeds: {}, stablecoins: [TOKEN] }
const STALE = { blockTimestampSec: FEED.updatedAtSec + 3_901n }
const OTHER = { source: '0x000000000000000000000000000000000000bEEF', price: 98n } as const
/** The feed itself, spelled as a node might. */
const SAME = { source: '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6'.toLowerCase() as Address, price: 98n }
/** All that there can be. */
const ANSWERS: UsdAnswers = {
  round: { answer: FEED.answer, decimals: FEED.decimals, updatedAtSec: FEED.updatedAtSec },
  aave: { ...SAME, price: 99_000_000n },
  blockTimestampSec: FEED.blockTimestampSec,
}

test.each([
  ['the feed before all', FED, {}, 'feed', FEED.answer, 8],
  ['the feed before a source of Aave’s of its own', FED, { aave: OTHER }, 'feed', FEED.answer, 8],
  [
    'Aave’s oracle where the feed is stale and not what that asks',
    FED,
    { ...STALE, aave: OTHER },
    'aave_oracle',
    98n,
    8,
  ],
  ['Aave’s oracle where the feed is silent', FED, { round: undefined, aave: OTHER }, 'aave_oracle', 98n, 8],
  ["Aave's oracle where there is no feed, to 8 decimals", UNFED, {}, 'aave_oracle', 99_000_000n, 8],
  ["Aave's oracle before the list", LISTED, {}, 'aave_oracle', 99_000_000n, 8],
  ['a dollar where only the list knows the token', LISTED, { aave: undefined }, 'stablecoin', 1n, 0],
] as [string, ChainPrices, Partial<UsdAnswers>, string, bigint, number][])(
  'usdPriceOf() takes %s, and says so',
  (_, prices, change, source, units, scale) => {
    const outcome = usdPriceOf(TOKEN, { prices, answers: { ...ANSWERS, ...change } })
    expect(outcome).toEqual({ kind: 'price', price: { units, scale, source } } as never)
  },
)

test.each([
  ['a feed that does not answer', FED, { round: undefined }, 'its price feed does not answer'],
  ['a feed that is stale', FED, { ...STALE }, 'its price feed is stale'],
  ['a feed that is stale, Aave’s own source', FED, { ...STALE, aave: SAME }, 'its price feed is stale'],
  [
    'a feed that is stale, Aave’s source failing',
    FED,
    { ...STALE, aave: { ...OTHER, price: 0n } },
    'its price feed is stale',
  ],
  ['a feed that is stale where Aave knows nothing', FED, { ...STALE, aave: undefined }, 'its price feed is stale'],
  [
    'a source of Aave that fails',
    LISTED,
    { aave: { ...OTHER, price: undefined } },
    "Aave's oracle has no price for it",
  ],
  ['a price of zero at Aave', LISTED, { aave: { ...OTHER, price: 0n } }, "Aave's oracle has no price for it"],
  ['a token that nobody knows', UNFED, { aave: undefined }, 'no source of its price is configured'],
] as [string, ChainPrices, Partial<UsdAnswers>, string][])(
  'usdPriceOf() makes no price of %s, whatever a list behind it says',
  (_, prices, change, because) => {
    expect(usdPriceOf(TOKEN, { prices, answers: { ...ANSWERS, ...change } })).toEqual({ kind: 'missing', because })
  },
)
