import type { Address } from 'viem'
import { type Decimal, rescale } from '../../lib/number/decimal.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'
import type { ChainPrices, UsdFeed } from '../chain.ts'

/** US dollars per whole token, exact, and the source of the price. */
export interface UsdPrice extends Decimal {
  readonly source: (typeof USD_PRICE_SOURCES)[number]
}

/** Possible sources of a price: a USD feed of the token, Aave's oracle, or the list of stablecoins. */
export const USD_PRICE_SOURCES = ['feed', 'aave_oracle', 'stablecoin'] as const

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

/** Answer of Aave's oracle for a token that it has a source for. */
interface AaveAnswer {
  /** The contract that the oracle asks. */
  readonly source: Address
  /** US dollars with 8 decimals; undefined if the source fails. */
  readonly price: bigint | undefined
}

/** Answers of a token's possible sources, all at one block. */
export interface UsdAnswers {
  /** Latest round of the token's feed; undefined if the token has no feed or the feed failed. */
  readonly round: FeedRound | undefined
  /** Undefined if Aave's oracle has no source for the token. */
  readonly aave: AaveAnswer | undefined
  readonly blockTimestampSec: bigint
}

/** A price, or the reason why it is missing, in words that follow "because". */
export type UsdPriceOutcome =
  | { readonly kind: 'price'; readonly price: UsdPrice }
  | { readonly kind: 'missing'; readonly because: string }

/** Decimals of every Aave oracle that prices in US dollars. */
const AAVE_DECIMALS = 8

/**
 * The price of a token (checksummed) from the first source that is configured for it: its own feed, Aave's oracle, the
 * list of stablecoins. No other source replaces a feed that fails: for many tokens Aave asks an adapter around the same
 * feed, which hides how old the answer is, and a caller cannot tell whether it does. The list's dollar does not replace
 * a source that failed, because sources often fail just when a stablecoin has lost its peg.
 *
 * @figure token0_price, token1_price
 * @source Chainlink `latestRoundData`; Aave V3 `AaveOracle.getAssetPrice`
 * @proof test/finance/price/price_test.ts
 */
export function usdPriceOf(
  token: Address,
  { prices, answers }: { readonly prices: ChainPrices; readonly answers: UsdAnswers },
): UsdPriceOutcome {
  const feed = prices.usdFeeds[token]
  if (feed !== undefined) return feedPrice(feed, answers)
  if (answers.aave !== undefined) return aavePrice(answers.aave)
  if (prices.stablecoins.includes(token)) return { kind: 'price', price: { units: 1n, scale: 0, source: 'stablecoin' } }
  return missing('no source of its price is configured')
}

/**
 * The price in a feed's round, with all its digits. It is refused if it is zero or negative, older than the feed's
 * heartbeat and some grace, or later than the block that it was read at.
 */
function feedPrice({ heartbeatSec }: UsdFeed, { round, blockTimestampSec }: UsdAnswers): UsdPriceOutcome {
  if (round === undefined) return missing('its price feed does not answer')
  const { answer, decimals, updatedAtSec } = round
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > FEED_DECIMALS_MAX) {
    return missing('its price feed has unusable decimals')
  }
  if (answer <= 0n) return missing('its price feed answers nothing above zero')
  if (updatedAtSec > blockTimestampSec) return missing('its price feed answers from the future')
  const ageSecMax = BigInt(heartbeatSec + HEARTBEAT_GRACE_SEC)
  if (blockTimestampSec - updatedAtSec > ageSecMax) return missing('its price feed is stale')
  return { kind: 'price', price: { units: answer, scale: decimals, source: 'feed' } }
}

function aavePrice({ price = 0n }: AaveAnswer): UsdPriceOutcome {
  if (price <= 0n) return missing("Aave's oracle has no price for it")
  return { kind: 'price', price: { units: price, scale: AAVE_DECIMALS, source: 'aave_oracle' } }
}

/**
 * Value in US dollars of an amount in a token's smallest unit, exact.
 *
 * @figure uniswap-v3/amounts, uniswap-v3/uncollected_fees
 * @source definition
 * @proof test/finance/price/price_test.ts
 */
export function usdValue(amountRaw: bigint, options: { readonly decimals: number; readonly price: UsdPrice }): Decimal {
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
  const scale = Math.max(6, ...values.map((value) => value.scale))
  const sum = values.reduce((total, value) => total + value.units * pow10(scale - value.scale), 0n)
  return rescale(sum, { from: scale, to: 6, rounding: 'half_away_from_zero' })
}

/** No price, with the reason in words that follow "because". */
export function missing(because: string) {
  return { kind: 'missing', because } as const
}
