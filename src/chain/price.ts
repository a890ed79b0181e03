import type { Address } from 'viem'
import type { Decimal } from '../lib/decimal.ts'
import type { ChainPrices, UsdFeed } from './chain.ts'

/** US dollars per whole token, exact, and where the figure comes from. */
export interface UsdPrice extends Decimal {
  readonly source: UsdPriceSource
}

/** What a price can come from: a USD feed of the token, Aave's oracle, or the word of the list of stablecoins. */
export const USD_PRICE_SOURCES = ['feed', 'aave_oracle', 'stablecoin'] as const

/** What one price comes from. */
export type UsdPriceSource = (typeof USD_PRICE_SOURCES)[number]

/** Contracts that know prices of a chain's tokens, as a reading is told of them. */
export interface PriceSources {
  readonly feeds: readonly { readonly token: Address; readonly feed: Address }[]
  readonly aaveOracle: Address | undefined
}

/** The contracts behind a chain's prices. */
export function priceSourcesOf({ usdFeeds, aaveOracle }: ChainPrices): PriceSources {
  const feeds = Object.entries(usdFeeds) as [Address, UsdFeed][]
  return { feeds: feeds.map(([token, { feed }]) => ({ token, feed })), aaveOracle }
}

/** Latest round of an aggregator: what `latestRoundData` and `decimals` say of it. */
export interface FeedRound {
  /** `answer`, a signed integer. */
  readonly answer: bigint
  readonly decimals: number
  /** `updatedAt`, seconds since the epoch; 0 for a round that never finished. */
  readonly updatedAtSec: bigint
}

/** An update is a transaction that has to be mined: so much later than the heartbeat is still on time. */
const HEARTBEAT_GRACE_SEC = 300
/** Aggregators have 8 or 18 decimals; far more is nonsense. */
const FEED_DECIMALS_MAX = 36

/** What Aave's oracle says of a token that it has a source for. */
export interface AaveAnswer {
  /** The contract that it asks. */
  readonly source: Address
  /** US dollars with 8 decimals; undefined where the source fails. */
  readonly price: bigint | undefined
}

/** What a token's possible sources said, all at one block. */
export interface UsdAnswers {
  /** Latest round of the token's feed; undefined where it has none, or where it failed. */
  readonly round: FeedRound | undefined
  /** Undefined where Aave's oracle has no source for the token. */
  readonly aave: AaveAnswer | undefined
  readonly blockTimestampSec: bigint
}

/** A price, or why there is none, in words that follow "because". */
export type UsdPriceOutcome =
  | { readonly kind: 'price'; readonly price: UsdPrice }
  | { readonly kind: 'missing'; readonly because: string }

/** Decimals of every market's oracle that counts in US dollars. */
const AAVE_DECIMALS = 8

/**
 * The price of a token (checksummed) from the first source that is configured for it: its own feed, Aave's oracle, the
 * list of stablecoins. Nothing stands in for a feed that fails: Aave asks for many a token an adapter around the very
 * feed, which hides how old the answer is, and whether it does so cannot be told from outside. The list's dollar stands
 * in for no source that failed, because sources fail just when a stablecoin has lost its dollar.
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
 * The price in a feed's round, to all its digits. It is refused where it is zero or negative, older than the feed's
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

/** What an amount in a token's smallest unit is worth in US dollars, exact. */
export function usdValue(amountRaw: bigint, options: { readonly decimals: number; readonly price: UsdPrice }): Decimal {
  const { decimals, price } = options
  return { units: amountRaw * price.units, scale: decimals + price.scale }
}

function missing(because: string): UsdPriceOutcome {
  return { kind: 'missing', because }
}
