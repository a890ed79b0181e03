import { type Address, isAddressEqual } from 'viem'
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

/** Why a feed's answer is not a price. */
export type PriceProblem = 'not_positive' | 'stale' | 'from_the_future' | 'bad_decimals'

/** A price, or the reason why there is none. */
export type PriceOutcome =
  | { readonly kind: 'price'; readonly price: UsdPrice }
  | { readonly kind: 'unusable'; readonly problem: PriceProblem }

/** What an aggregator says: `latestRoundData` and `decimals`, read at a block, with the feed's own heartbeat. */
export interface FeedAnswer {
  /** `answer`, a signed integer. */
  readonly answer: bigint
  readonly decimals: number
  /** `updatedAt`, seconds since the epoch; 0 for a round that never finished. */
  readonly updatedAtSec: bigint
  readonly blockTimestampSec: bigint
  readonly heartbeatSec: number
}

/** How a token is priced: by a feed, as one dollar, or not at all. */
export type UsdSource =
  | { readonly kind: 'feed'; readonly feed: UsdFeed }
  | { readonly kind: 'stablecoin' }
  | { readonly kind: 'none' }

/** An update is a transaction that has to be mined: so much later than the heartbeat is still on time. */
const HEARTBEAT_GRACE_SEC = 300
/** Aggregators have 8 or 18 decimals; far more is nonsense. */
const FEED_DECIMALS_MAX = 36

/**
 * The price in a feed's answer, to all its digits. It is refused where it is zero or negative, older than the feed's
 * heartbeat and some grace, or later than the block that it was read at.
 */
export function priceFromFeed(answer: FeedAnswer): PriceOutcome {
  const { decimals, updatedAtSec, blockTimestampSec, heartbeatSec } = answer
  if (!Number.isInteger(decimals) || decimals < 0 || decimals > FEED_DECIMALS_MAX) return unusable('bad_decimals')
  if (answer.answer <= 0n) return unusable('not_positive')
  if (updatedAtSec > blockTimestampSec) return unusable('from_the_future')
  if (blockTimestampSec - updatedAtSec > BigInt(heartbeatSec + HEARTBEAT_GRACE_SEC)) return unusable('stale')
  return { kind: 'price', price: { units: answer.answer, scale: decimals, source: 'feed' } }
}

/** How the chain's configuration prices a token (checksummed). A feed is preferred to the word of a list. */
export function usdSourceOf(prices: ChainPrices, token: Address): UsdSource {
  const feed = prices.usdFeeds[token]
  if (feed !== undefined) return { kind: 'feed', feed }
  return { kind: prices.stablecoins.includes(token) ? 'stablecoin' : 'none' }
}

/** The price of a listed stablecoin without a feed: one dollar. */
export const STABLECOIN_PRICE: UsdPrice = { units: 1n, scale: 0, source: 'stablecoin' }

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
  readonly round: Pick<FeedAnswer, 'answer' | 'decimals' | 'updatedAtSec'> | undefined
  /** Undefined where Aave's oracle has no source for the token. */
  readonly aave: AaveAnswer | undefined
  readonly blockTimestampSec: bigint
}

/** A price, or why there is none, in words that follow "because". */
export type UsdPriceOutcome =
  | { readonly kind: 'price'; readonly price: UsdPrice }
  | { readonly kind: 'missing'; readonly because: string }

const FEED_BECAUSE = {
  not_positive: 'its price feed answers nothing above zero',
  stale: 'its price feed is stale',
  from_the_future: 'its price feed answers from the future',
  bad_decimals: 'its price feed has unusable decimals',
} as const satisfies Record<PriceProblem, string>

/** Decimals of every market's oracle that counts in US dollars. */
const AAVE_DECIMALS = 8

/**
 * A token's price from the first source that knows it: its own feed, Aave's oracle, the list of stablecoins. Where the
 * feed fails, Aave's oracle stands in only if it asks another contract: it does not check how old a price is, so the
 * same feed would come back as fresh. A list's dollar stands in for nothing that has failed: a stablecoin
 * that has lost it is when that happens.
 */
export function usdPriceOf(
  token: Address,
  { prices, answers }: { readonly prices: ChainPrices; readonly answers: UsdAnswers },
): UsdPriceOutcome {
  const { aave } = answers
  const source = usdSourceOf(prices, token)
  if (source.kind === 'feed') {
    const outcome = feedPrice(source.feed, answers)
    if (outcome.kind === 'price' || aave === undefined || isAddressEqual(aave.source, source.feed.feed)) return outcome
    const standIn = aavePrice(aave)
    return standIn.kind === 'price' ? standIn : outcome
  }
  if (aave !== undefined) return aavePrice(aave)
  if (source.kind === 'stablecoin') return { kind: 'price', price: STABLECOIN_PRICE }
  return missing('no source of its price is configured')
}

function feedPrice({ heartbeatSec }: UsdFeed, { round, blockTimestampSec }: UsdAnswers): UsdPriceOutcome {
  if (round === undefined) return missing('its price feed does not answer')
  const outcome = priceFromFeed({ ...round, heartbeatSec, blockTimestampSec })
  return outcome.kind === 'price' ? outcome : missing(FEED_BECAUSE[outcome.problem])
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

function unusable(problem: PriceProblem): PriceOutcome {
  return { kind: 'unusable', problem }
}

function missing(because: string): UsdPriceOutcome {
  return { kind: 'missing', because }
}
