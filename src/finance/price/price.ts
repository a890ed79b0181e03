import { type Address, zeroAddress } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import { type Decimal, rescale } from '../../lib/number/decimal.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'
import type { ChainPrices, FinanceChain, UsdFeed } from '../chain.ts'
import { divideSignificant } from '../math/liquidity.ts'

/** US dollars per whole token, exact, and the source of the price. */
export interface UsdPrice extends Decimal {
  readonly source: UsdPriceSource
  /** The chain of the feed, if it is another than the token's. */
  readonly chainId?: number
  /** True if the feed is that of the token that this one stands for, across a bridge. */
  readonly isBridged?: true
}

/** A price whose source prices the token itself. */
export interface DirectPrice extends UsdPrice {
  readonly source: (typeof DIRECT_PRICE_SOURCES)[number]
}

/**
 * What is to be known about a price by pools: little depth, a pool that does not remember, a market that moved within
 * half an hour, pools that disagree, bids alone, depth that is gone.
 */
export const PRICE_MARKS = ['thin', 'young', 'moved', 'disputed', 'one_sided', 'gone'] as const
export type PriceMark = (typeof PRICE_MARKS)[number]

/** Sources that price the token itself: its USD feed, Aave's oracle, the list of stablecoins. */
export const DIRECT_PRICE_SOURCES = ['feed', 'aave_oracle', 'stablecoin'] as const

/** Confidence of a price by its source, best source first. */
const CONFIDENCES = {
  feed: 'oracle',
  aave_oracle: 'oracle',
  wrapper: 'derived',
  stablecoin: 'assumed',
  pool: 'market',
  market_oracle: 'derived',
  scope: 'oracle',
} as const

export type UsdPriceSource = keyof typeof CONFIDENCES
export type PriceConfidence = (typeof CONFIDENCES)[UsdPriceSource]

/**
 * Possible sources of a price on EVM chains, in order of precedence; on Solana the source is always `scope`. A debt of a
 * lending market may have that of the market's own oracle, `market_oracle`.
 */
export const USD_PRICE_SOURCES = ['feed', 'aave_oracle', 'wrapper', 'stablecoin', 'pool'] as const
export const PRICE_CONFIDENCES = ['oracle', 'derived', 'assumed', 'market'] as const

/**
 * Returns the confidence of a price: reported by an oracle, derived from another price by a rate on the chain or across a
 * bridge, assumed, or made by a market.
 */
export function getConfidence({ source, isBridged }: Pick<UsdPrice, 'source' | 'isBridged'>): PriceConfidence {
  return isBridged === true ? 'derived' : CONFIDENCES[source]
}

/** Returns the price if its source prices the token itself. */
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

/**
 * Revision of the rule by which the feed of a token is believed: stored midnights and prices of flows name it in their
 * key, so that it rises with every change of the rule, here and in `prices.sol`. 1: sign, age and decimals; 2: bounds of
 * aggregators and halts of sequencers too.
 */
export const FEED_RULE_REVISION = 2

/** Allowed delay after the heartbeat: an update is a transaction that must be mined first. */
const HEARTBEAT_GRACE_SEC = 300
/** Aggregators have 8 or 18 decimals; a much larger number is an error. */
const FEED_DECIMALS_MAX = 36

/** Answers of the sources that price a token itself, all at one block. */
export interface DirectAnswers {
  /** Latest round of the token's feed; undefined if the token has no feed or the feed failed. */
  readonly round: FeedRound | undefined
  /**
   * Why the round says nothing, though the feed answers: it is a bound of its aggregator, or of before a halt of the
   * chain's sequencer that lasts or ended less than an hour ago.
   */
  readonly roundFault?: 'bound' | 'halt' | undefined
  /**
   * Price in US dollars with 8 decimals; undefined if the source fails. The whole answer is undefined if Aave's oracle
   * has no source for the token, or if a feed takes precedence.
   */
  readonly aave: { readonly price: bigint | undefined } | undefined
}

/** Answers of all possible sources of a token except its pools, all at one block. */
export interface UsdAnswers extends DirectAnswers {
  /**
   * Rates of the unpriced wrappers that were opened, outermost first: whole tokens inside per whole wrapper token;
   * undefined if the wrapper returns no rate. The other answers are about the token inside the last one.
   */
  readonly rates: readonly (Decimal | undefined)[]
}

/** Why a price is missing. */
export interface NoPrice {
  readonly kind: 'missing'
  /** `stale`: the token's feed is late. `thin`: nothing stands in the token's pools. */
  readonly reason: 'unpriced' | 'stale' | 'thin'
  /** `gone`: the token has pools, and none of them tells a price. Absent: none. */
  readonly marks?: readonly PriceMark[]
  /** False if no source is configured for the token: only then its pools may price it. */
  readonly hasSource: boolean
  /** Explanation; completes a sentence after "because". */
  readonly because: string
}

/** A price, or the reason why it is missing. */
export type UsdPriceOutcome<Price extends UsdPrice = UsdPrice> =
  | { readonly kind: 'price'; readonly price: Price }
  | NoPrice

/** Decimals of every Aave oracle that prices in US dollars. */
export const AAVE_DECIMALS = 8

/** Answers of a lens about a token, and the time of their block. */
interface UsdPriceQuery {
  readonly chain: FinanceChain
  readonly answers: UsdAnswers
  readonly blockTimestampSec: bigint
}

/**
 * The price of a token (checksummed; the native token is the zero address) from the first source that is configured for
 * it: its own feed, Aave's oracle, the rate of a wrapper times the price of the token inside, the list of stablecoins.
 * No other source replaces a source that fails: for many tokens Aave reads an adapter around the same feed, which hides
 * the age of the answer, and a caller cannot detect that. The list's dollar does not replace a failed source, because
 * sources often fail just when a stablecoin has lost its peg. A wrapper's price has 18 significant digits.
 *
 * @figure token0_price, token1_price, price_usd
 * @source Chainlink `latestRoundData`; Aave V3 `AaveOracle.getAssetPrice`; ERC-4626 `convertToAssets`
 * @proof test/unit/finance/price/price_test.ts, test/contract/finance/price/wrappers_test.ts
 */
export function computeUsdPrice(token: Address, { chain, answers, blockTimestampSec }: UsdPriceQuery): UsdPriceOutcome {
  let inside: Address | undefined = token
  let numerator = 1n
  let scale = 0
  for (const rate of answers.rates) {
    if (inside !== undefined) inside = getInnerToken(chain, inside)
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

/** Returns the token inside a wrapper. */
function getInnerToken({ nativeCurrency, prices }: FinanceChain, token: Address): Address | undefined {
  return token === zeroAddress ? nativeCurrency?.wrapped : prices.wrappers?.[token]?.of
}

interface DirectPriceQuery {
  readonly prices: ChainPrices
  readonly answers: DirectAnswers
  readonly blockTimestampSec: bigint
}

/** Computes the price of a token from the first source that is configured for the token itself. */
export function computeDirectPrice(
  token: Address,
  { prices, answers, blockTimestampSec }: DirectPriceQuery,
): UsdPriceOutcome<DirectPrice> {
  if (prices.unbacked?.includes(token)) return noPriceBecause('its bridge lost what it stands for')
  const feed = prices.usdFeeds[token]
  if (feed !== undefined) {
    const outcome = toFeedPrice(feed, answers, blockTimestampSec)
    const isBridged = outcome.kind === 'price' && prices.bridged?.includes(token) === true
    return isBridged ? { ...outcome, price: { ...outcome.price, isBridged } } : outcome
  }
  if (answers.aave !== undefined) return toAavePrice(answers.aave.price)
  if (prices.stablecoins.includes(token)) return { kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } }
  return { ...noPriceBecause('no source of its price is configured'), hasSource: false }
}

/**
 * Converts a feed's round to a price with all its digits. Rejects an answer of zero or less, an answer older than the
 * feed's heartbeat plus a grace period, one later than the block of the read, a bound of the aggregator, and one of
 * before a halt.
 */
function toFeedPrice(
  feed: UsdFeed,
  { round, roundFault }: DirectAnswers,
  blockTimestampSec: bigint,
): UsdPriceOutcome<DirectPrice> {
  if (roundFault === 'bound') return noPriceBecause('its price feed stands at a bound of what it can answer')
  if (roundFault === 'halt')
    return noPriceBecause("its price feed answered before the chain's sequencer halted", 'stale')
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

/** Returns the maximum age of a feed's answer, seconds. */
export function getMaxFeedAgeSec({ heartbeatSec }: UsdFeed): number {
  return heartbeatSec + HEARTBEAT_GRACE_SEC
}

function toAavePrice(price = 0n): UsdPriceOutcome<DirectPrice> {
  if (price <= 0n) return noPriceBecause("Aave's oracle has no price for it")
  return { kind: 'price', price: { units: price, scale: AAVE_DECIMALS, source: 'aave_oracle' } }
}

/**
 * Value in US dollars of an amount in a token's smallest unit, exact.
 *
 * @figure uniswap-v3/amounts, uniswap-v3/uncollected_fees, slipstream/amounts, slipstream/uncollected_fees
 * @source definition
 * @proof test/unit/finance/price/price_test.ts
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
 * @proof test/unit/finance/price/price_test.ts
 */
export function sumE6(values: readonly Decimal[]): bigint {
  const { units, scale } = exactSum(values)
  return rescale(units, { from: scale, to: 6, rounding: 'half_away_from_zero' })
}

/** Computes the exact sum of decimals. */
export function exactSum(values: readonly Decimal[]): Decimal {
  // Most values have one of few scales.
  const sums = new Map<number, bigint>()
  for (const { units, scale } of values) sums.set(scale, (sums.get(scale) ?? 0n) + units)
  const scale = Math.max(0, ...sums.keys())
  let units = 0n
  for (const [each, sum] of sums) units += sum * pow10(scale - each)
  return { units, scale }
}

/** Returns a missing price; `because` completes a sentence after "because". */
export function noPriceBecause(because: string, reason: NoPrice['reason'] | 'young' | 'moved' = 'unpriced'): NoPrice {
  const common = { kind: 'missing', hasSource: true, because } as const
  return reason === 'young' || reason === 'moved'
    ? { ...common, reason: 'thin', marks: [reason] }
    : { ...common, reason }
}
