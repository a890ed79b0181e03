import { type Address, zeroAddress } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { type Decimal, rescale } from '../../lib/number/decimal.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'
import type { ChainPrices, FinanceChain, UsdFeed } from '../chain.ts'
import { divideSignificant } from '../math/liquidity.ts'

/** US dollars per whole token, exact, and the source of the price. */
export interface UsdPrice extends Decimal {
  readonly source: UsdPriceSource
}

/** A price that a source gives to the token itself. */
export interface DirectPrice extends UsdPrice {
  readonly source: (typeof DIRECT_PRICE_SOURCES)[number]
}

/** Sources of a price that are asked about the token itself: its USD feed, Aave's oracle, the list of stablecoins. */
export const DIRECT_PRICE_SOURCES = ['feed', 'aave_oracle', 'stablecoin'] as const

/** How sure a price is by its source, best source first. */
const CONFIDENCES = {
  feed: 'oracle',
  aave_oracle: 'oracle',
  wrapper: 'derived',
  stablecoin: 'assumed',
  pool: 'market',
  scope: 'oracle',
} as const

export type UsdPriceSource = keyof typeof CONFIDENCES
export type PriceConfidence = (typeof CONFIDENCES)[UsdPriceSource]

/** Possible sources of a price on EVM chains, the first that applies counts; on Solana it is always `scope`. */
export const USD_PRICE_SOURCES = ['feed', 'aave_oracle', 'wrapper', 'stablecoin', 'pool'] as const
export const PRICE_CONFIDENCES = ['oracle', 'derived', 'assumed', 'market'] as const

/**
 * How sure a price is: told by an oracle, derived from another price by a rate on the chain, assumed, or made by a
 * market.
 */
export function getConfidence({ source }: UsdPrice): PriceConfidence {
  return CONFIDENCES[source]
}

/** The price, if a source gave it to the token itself. */
export function asDirectPrice(price: UsdPrice | undefined): DirectPrice | undefined {
  const source = DIRECT_PRICE_SOURCES.find((each) => each === price?.source)
  return price === undefined || source === undefined ? undefined : { ...price, source }
}

/** Latest round of an aggregator, from `latestRoundData` and `decimals`. */
export interface FeedRound {
  /** `answer`, a signed integer. */
  readonly answer: bigint
  readonly decimals: number
  /** `updatedAt`, seconds since the epoch; 0 for a round that never finished. */
  readonly updatedAtSec: bigint
}

/** An update is a transaction that has to be mined first, so it may be this much later than the heartbeat. */
const HEARTBEAT_GRACE_SEC = 300
/** Aggregators have 8 or 18 decimals; far more must be an error. */
const FEED_DECIMALS_MAX = 36

/** Answers of the sources that are asked about a token itself, all at one block. */
export interface DirectAnswers {
  /** Latest round of the token's feed; undefined if the token has no feed or the feed failed. */
  readonly round: FeedRound | undefined
  /**
   * Undefined if Aave's oracle has no source for the token, or was not asked because of a feed. US dollars with 8
   * decimals; no price if the source fails.
   */
  readonly aave: { readonly price: bigint | undefined } | undefined
}

/** Answers of all of a token's possible sources but its pools, all at one block. */
export interface UsdAnswers extends DirectAnswers {
  /**
   * Rates of the wrappers that were opened because nobody prices them, outermost first: how much of what is inside one of
   * them is worth, both whole; undefined if it does not say. The other answers are about what is in the last one.
   */
  readonly rates: readonly (Decimal | undefined)[]
}

/** Why a price is missing. */
export interface NoPrice {
  readonly kind: 'missing'
  /** `stale`: the token's feed is late. `thin`, `young`, `moved`: its pool tells no price. */
  readonly reason: 'unpriced' | 'stale' | 'thin' | 'young' | 'moved'
  /** False if nobody is configured to price the token: only then its pools may be asked. */
  readonly hasSource: boolean
  /** In words that follow "because". */
  readonly because: string
}

/** A price, or the reason why it is missing. */
export type UsdPriceOutcome<Price extends UsdPrice = UsdPrice> =
  | { readonly kind: 'price'; readonly price: Price }
  | NoPrice

/** Decimals of every Aave oracle that prices in US dollars. */
const AAVE_DECIMALS = 8

/** What a lens answered about a token, and when. */
interface UsdQuestion {
  readonly chain: FinanceChain
  readonly answers: UsdAnswers
  readonly blockTimestampSec: bigint
}

/**
 * The price of a token (checksummed; the native token is the zero address) from the first source that is configured for
 * it: its own feed, Aave's oracle, the rate of a wrapper times the price of what is inside, the list of stablecoins. No
 * other source replaces one that fails: for many tokens Aave asks an adapter around the same feed, which hides how old
 * the answer is, and a caller cannot tell whether it does. The list's dollar does not replace a source that failed,
 * because sources often fail just when a stablecoin has lost its peg. A wrapper's price has 18 significant digits.
 *
 * @figure token0_price, token1_price, price_usd
 * @source Chainlink `latestRoundData`; Aave V3 `AaveOracle.getAssetPrice`; ERC-4626 `convertToAssets`
 * @proof test/finance/price/price_test.ts, test/finance/price/wrappers_test.ts
 */
export function computeUsdPrice(token: Address, { chain, answers, blockTimestampSec }: UsdQuestion): UsdPriceOutcome {
  let inside: Address | undefined = token
  let numerator = 1n
  let scale = 0
  for (const rate of answers.rates) {
    if (inside !== undefined) inside = insideOf(chain, inside)
    if (rate === undefined) return noPriceBecause('its wrapper does not tell its rate')
    numerator *= rate.units
    scale += rate.scale
  }
  if (inside === undefined) throw new UpstreamError('Cannot price a token: a lens opened what is not a wrapper')
  const direct = computeDirectPrice(inside, { prices: chain.prices, answers, blockTimestampSec })
  if (answers.rates.length === 0) return direct
  if (direct.kind === 'missing') return { ...direct, hasSource: true }
  if (numerator === 0n) return noPriceBecause('its wrapper says that it holds nothing')
  const price = divideSignificant(direct.price.units * numerator, pow10(direct.price.scale + scale))
  return { kind: 'price', price: { ...price, source: 'wrapper' } }
}

/** What a wrapper holds. */
function insideOf({ nativeCurrency, prices }: FinanceChain, token: Address): Address | undefined {
  return token === zeroAddress ? nativeCurrency?.wrapped : prices.wrappers?.[token]?.of
}

interface DirectQuestion {
  readonly prices: ChainPrices
  readonly answers: DirectAnswers
  readonly blockTimestampSec: bigint
}

/** The price of a token from the first source that is configured for the token itself. */
export function computeDirectPrice(
  token: Address,
  { prices, answers, blockTimestampSec }: DirectQuestion,
): UsdPriceOutcome<DirectPrice> {
  const feed = prices.usdFeeds[token]
  if (feed !== undefined) return feedPrice(feed, answers.round, blockTimestampSec)
  if (answers.aave !== undefined) return aavePrice(answers.aave.price)
  if (prices.stablecoins.includes(token)) return { kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } }
  return { ...noPriceBecause('no source of its price is configured'), hasSource: false }
}

/**
 * The price in a feed's round, with all its digits. It is refused if it is zero or negative, older than the feed's
 * heartbeat and some grace, or later than the block that it was read at.
 */
function feedPrice(
  feed: UsdFeed,
  round: FeedRound | undefined,
  blockTimestampSec: bigint,
): UsdPriceOutcome<DirectPrice> {
  if (round === undefined) return noPriceBecause('its price feed does not answer')
  const { answer, decimals, updatedAtSec } = round
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > FEED_DECIMALS_MAX) {
    return noPriceBecause('its price feed has unusable decimals')
  }
  if (answer <= 0n) return noPriceBecause('its price feed answers nothing above zero')
  if (updatedAtSec > blockTimestampSec) return noPriceBecause('its price feed answers from the future')
  if (blockTimestampSec - updatedAtSec > BigInt(getMaxFeedAgeSec(feed)))
    return noPriceBecause('its price feed is stale', 'stale')
  return { kind: 'price', price: { units: answer, scale: decimals, source: 'feed' } }
}

/** How old a feed's answer may be. */
export function getMaxFeedAgeSec({ heartbeatSec }: UsdFeed): number {
  return heartbeatSec + HEARTBEAT_GRACE_SEC
}

function aavePrice(price = 0n): UsdPriceOutcome<DirectPrice> {
  if (price <= 0n) return noPriceBecause("Aave's oracle has no price for it")
  return { kind: 'price', price: { units: price, scale: AAVE_DECIMALS, source: 'aave_oracle' } }
}

/**
 * Value in US dollars of an amount in a token's smallest unit, exact.
 *
 * @figure uniswap-v3/amounts, uniswap-v3/uncollected_fees
 * @source definition
 * @proof test/finance/price/price_test.ts
 */
export function usdValue(amountRaw: bigint, options: { readonly decimals: number; readonly price: Decimal }): Decimal {
  const { decimals, price } = options
  return { units: amountRaw * price.units, scale: decimals + price.scale }
}

/**
 * Sum of exact decimals in millionths, rounded once at the end, half away from zero.
 *
 * @figure total
 * @source definition
 * @proof test/finance/price/price_test.ts
 */
export function sumE6(values: readonly Decimal[]): bigint {
  const { units, scale } = exactSum(values)
  return rescale(units, { from: scale, to: 6, rounding: 'half_away_from_zero' })
}

/** Their exact sum. */
export function exactSum(values: readonly Decimal[]): Decimal {
  // Most values have one of few scales.
  const sums = new Map<number, bigint>()
  for (const { units, scale } of values) sums.set(scale, (sums.get(scale) ?? 0n) + units)
  const scale = Math.max(0, ...sums.keys())
  let units = 0n
  for (const [each, sum] of sums) units += sum * pow10(scale - each)
  return { units, scale }
}

/** No price, with the reason in words that follow "because". */
export function noPriceBecause(because: string, reason: NoPrice['reason'] = 'unpriced'): NoPrice {
  return { kind: 'missing', reason, hasSource: true, because }
}
