import { describe, expect, test } from 'bun:test'
import { type Address, zeroAddress } from 'viem'
import { type ChainPrices, FINANCE_CHAINS, type FinanceChain } from '../../../../src/finance/chain.ts'
import {
  asDirectPrice,
  computeUsdPrice,
  type FeedRound,
  getConfidence,
  sumE6,
  type UsdAnswers,
  type UsdPriceSource,
  usdValue,
} from '../../../../src/finance/price/price.ts'
import { formatExact } from '../../../../src/lib/number/decimal.ts'

const ROUND: FeedRound = { answer: 345_612_345_678n, decimals: 8, updatedAtSec: 1_700_000_000n }

test('usdValue() is exact', () => {
  const price = { units: 345_612_345_678n, scale: 8, source: 'feed' } as const
  const value = usdValue(1_500_000_000_000_000_001n, { decimals: 18, price })
  expect(formatExact(value.units, value.scale)).toBe('5184.18518517000000345612345678')
  const dollar = usdValue(1_234_567n, { decimals: 6, price: { units: 1n, scale: 0 } })
  expect(formatExact(dollar.units, dollar.scale)).toBe('1.234567')
})

const TOKEN = '0x000000000000000000000000000000000000dEaD'
const WETH = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2'
const FED: ChainPrices = {
  usdFeeds: { [TOKEN]: { feed: '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6', heartbeatSec: 3_600 } },
  stablecoins: [TOKEN],
}
const UNFED: ChainPrices = { usdFeeds: {}, stablecoins: [] }
const LISTED: ChainPrices = { usdFeeds: {}, stablecoins: [TOKEN] }
const STALE = { blockTimestampSec: ROUND.updatedAtSec + 3_901n }
/** Every source answers. */
const ANSWERS: Answers = {
  rates: [],
  round: ROUND,
  aave: { price: 99_000_000n },
  blockTimestampSec: ROUND.updatedAtSec + 3_600n,
}

type Answers = UsdAnswers & { readonly blockTimestampSec: bigint }

/** Computes the price from the answers on Ethereum with these sources. */
function priced(prices: ChainPrices, { blockTimestampSec, ...answers }: Answers, token: Address = TOKEN) {
  return computeUsdPrice(token, { chain: chainWith(prices), answers, blockTimestampSec })
}

function chainWith(prices: ChainPrices): FinanceChain {
  const [ethereum] = FINANCE_CHAINS
  if (ethereum === undefined) throw new Error('There are no chains')
  return { ...ethereum, prices }
}

test('computeUsdPrice() returns all digits of a feed’s answer', () => {
  const computePrice = (change: Partial<FeedRound>) =>
    priced(FED, { ...ANSWERS, round: { ...ROUND, ...change }, aave: undefined })
  expect(computePrice({})).toEqual({ kind: 'price', price: { units: 345_612_345_678n, scale: 8, source: 'feed' } })
  expect(computePrice({ answer: 1n, decimals: 18 })).toMatchObject({ price: { units: 1n, scale: 18 } })
  expect(computePrice({ decimals: 0 })).toMatchObject({ price: { scale: 0 } })
})

test('computeUsdPrice() takes no source for a token whose bridge lost what it stands for, inside a wrapper too', () => {
  const because = 'its bridge lost what it stands for'
  for (const prices of [FED, UNFED, LISTED]) {
    expect(priced({ ...prices, unbacked: [TOKEN] }, ANSWERS)).toMatchObject({
      kind: 'missing',
      hasSource: true,
      because,
    })
    expect(priced({ ...prices, unbacked: [WETH] }, ANSWERS).kind).toBe('price')
  }
  const wrappers = { [TOKEN]: { kind: 'erc4626', of: WETH } } as const
  const wrapped = { ...ANSWERS, rates: [{ units: 1n, scale: 0 }] }
  expect(priced({ ...UNFED, wrappers, unbacked: [WETH] }, wrapped)).toMatchObject({ kind: 'missing', because })
})

test('computeUsdPrice() derives the price of a bridged token from the feed of what it stands for', () => {
  const outcome = priced({ ...FED, bridged: [TOKEN] }, ANSWERS)
  if (outcome.kind !== 'price') throw new Error(outcome.because)
  expect([outcome.price.source, getConfidence(outcome.price)]).toEqual(['feed', 'derived'])
  expect(priced({ ...LISTED, bridged: [TOKEN] }, { ...ANSWERS, aave: undefined })).toMatchObject({
    price: { source: 'stablecoin' },
  })
})

test('computeUsdPrice() accepts a round that is five minutes late, and rejects one a second later', () => {
  const at = (ageSec: bigint) => ({ ...ANSWERS, aave: undefined, blockTimestampSec: ROUND.updatedAtSec + ageSec })
  expect(priced(FED, at(3_900n)).kind).toBe('price')
  expect(priced(FED, at(3_901n)).kind).toBe('missing')
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
  'computeUsdPrice() returns no price from a feed with %s: it %s',
  (_, why, change) => {
    const answers = { ...ANSWERS, round: { ...ROUND, ...change }, aave: undefined }
    const reason = why === 'is stale' ? 'stale' : 'unpriced'
    expect(priced(FED, answers)).toEqual({ kind: 'missing', hasSource: true, reason, because: `its price feed ${why}` })
  },
)

test.each([
  ['the feed before all', FED, {}, 'feed', ROUND.answer, 8],
  ["Aave's oracle if there is no feed, to 8 decimals", UNFED, {}, 'aave_oracle', 99_000_000n, 8],
  ["Aave's oracle before the list", LISTED, {}, 'aave_oracle', 99_000_000n, 8],
  ['a dollar if only the list knows the token', LISTED, { aave: undefined }, 'stablecoin', 1n, 0],
] as [string, ChainPrices, Partial<Answers>, string, bigint, number][])(
  'computeUsdPrice() uses %s, and names the source',
  (_, prices, change, source, units, scale) => {
    const outcome = priced(prices, { ...ANSWERS, ...change })
    expect(outcome).toEqual({ kind: 'price', price: { units, scale, source } } as never)
  },
)

test.each([
  ['a feed that does not answer', FED, { round: undefined }, 'its price feed does not answer'],
  ['a feed that is stale', FED, STALE, 'its price feed is stale'],
  [
    'a feed at its bound',
    FED,
    { round: undefined, roundFault: 'bound' },
    'its price feed stands at a bound of what it can answer',
  ],
  ['a feed of zero', FED, { round: { ...ROUND, answer: 0n } }, 'its price feed answers nothing above zero'],
  ['a feed of the future', FED, { blockTimestampSec: 1n }, 'its price feed answers from the future'],
  ['a feed that is stale if Aave has no source', FED, { ...STALE, aave: undefined }, 'its price feed is stale'],
  ['a source of Aave that fails', LISTED, { aave: { price: undefined } }, "Aave's oracle has no price for it"],
  ['a price of zero at Aave', LISTED, { aave: { price: 0n } }, "Aave's oracle has no price for it"],
  ['a token without a source', UNFED, { aave: undefined }, 'no source of its price is configured'],
] as [string, ChainPrices, Partial<Answers>, string][])(
  'computeUsdPrice() returns no price for %s, even if Aave or the list has one',
  (_, prices, change, because) => {
    const outcome = priced(prices, { ...ANSWERS, ...change })
    expect(outcome).toMatchObject({ kind: 'missing', because })
  },
)

describe('computeUsdPrice() of a wrapper', () => {
  const [OUTER, INNER] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`] as const
  const WRAPPED: ChainPrices = {
    ...FED,
    wrappers: { [OUTER]: { kind: 'erc4626', of: INNER }, [INNER]: { kind: 'stETHPerToken', of: TOKEN } },
  }
  const unasked = { ...ANSWERS, aave: undefined }
  const rate = (units: bigint, scale = 18) => ({ units, scale })

  test('is the price of the token inside times the rate, to 18 significant digits, never with oracle confidence', () => {
    const one = priced(WRAPPED, { ...unasked, rates: [rate(1_234_567_890_123_456_789n)] }, INNER)
    // The product is 4266.81904404307269856…
    expect(one).toEqual({ kind: 'price', price: { units: 426_681_904_404_307_270n, scale: 14, source: 'wrapper' } })
    const two = priced(WRAPPED, { ...unasked, rates: [rate(1_500_000n, 6), rate(2n, 0)] }, OUTER)
    expect(two).toMatchObject({ price: { units: 103_683_703_703_400_000n, scale: 13 } })
  })

  test('is that of the wrapped token for the native one', () => {
    const native = priced(
      { ...FED, usdFeeds: { [WETH]: { feed: TOKEN, heartbeatSec: 3_600 } } },
      { ...unasked, rates: [rate(1n, 0)] },
      zeroAddress,
    )
    expect(native).toMatchObject({ price: { source: 'wrapper' } })
    expect(native).toMatchObject({ price: { units: 345_612_345_678_000_000n, scale: 14 } })
  })

  test.each([
    ['it does not tell its rate', [undefined], {}, 'its wrapper does not tell its rate', 'unpriced'],
    ['the inner one does not', [rate(1n), undefined], {}, 'its wrapper does not tell its rate', 'unpriced'],
    ['it holds nothing', [rate(0n)], {}, 'its wrapper says that it holds nothing', 'unpriced'],
    ['the feed of what is inside is late', [rate(1n)], STALE, 'its price feed is stale', 'stale'],
    ['that feed is silent', [rate(1n)], { round: undefined }, 'its price feed does not answer', 'unpriced'],
  ] as [string, UsdAnswers['rates'], Partial<Answers>, string, string][])(
    'is missing if %s',
    (_, rates, change, because, reason) => {
      const token = rates.length === 1 ? INNER : OUTER
      expect(priced(WRAPPED, { ...unasked, rates, ...change }, token)).toEqual({
        kind: 'missing',
        hasSource: true,
        because,
        reason,
      } as never)
    },
  )

  test('throws for a token that is in no table', () => {
    expect(() => priced(FED, { ...unasked, rates: [rate(1n)] })).toThrow('a lens opened what is not a wrapper')
  })
})

test('getConfidence() and asDirectPrice() distinguish sources', () => {
  const of = (source: UsdPriceSource) => ({ units: 1n, scale: 0, source })
  const sources = ['feed', 'aave_oracle', 'wrapper', 'stablecoin', 'pool'] as const
  expect(sources.map((source) => getConfidence(of(source)))).toEqual([
    ...(['oracle', 'oracle', 'derived', 'assumed', 'market'] as const),
  ])
  expect(sources.filter((source) => asDirectPrice(of(source)) !== undefined)).toEqual([
    'feed',
    'aave_oracle',
    'stablecoin',
  ])
})

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
