import type { Address } from 'viem'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { minBigint, pow10, Q96 } from '../../../lib/number/fixed_point.ts'
import { sqrtPriceAtTickX96 } from '../../math/liquidity.ts'
import type { PriceMark } from '../price.ts'
import { NEAR_TICKS } from './depth.ts'

/** Digits after the point of an amount of US dollars as a bigint. */
export const USD_DIGITS = 18
/** Least dollars of depth for a price without a mark, and with one. */
const DEPTH_USD_MIN = 1_000n * pow10(USD_DIGITS)
const THIN_USD_MIN = 10n * pow10(USD_DIGITS)
/** A pool votes with a tenth of what is needed together. */
const VOTER_DIVISOR = 10n
/** The square of the largest ratio of two prices that are near each other, 1.0001^513 in Q192. */
const NEAR_RATIO = sqrtPriceAtTickX96(NEAR_TICKS) ** 2n
const RATIO_UNIT = Q96 * Q96

/** One pool's part in the price of a token; amounts are US dollars with `USD_DIGITS` digits, prices US dollars. */
export interface PoolVoice {
  readonly pool: Address
  /** Median price while its liquidity stood, and mean of the last minutes; undefined without a past. */
  readonly mean: Decimal | undefined
  readonly recent: Decimal | undefined
  /** The best bid that stood; undefined without one. */
  readonly bestBid: Decimal | undefined
  /** Depth within 5 % of the liquidity that stood for most of the window. */
  readonly stood: bigint
  /** Depth on both sides within 5 %, second smallest of the looks. */
  readonly seen: bigint
  /** Bids down to half the price, second smallest of the looks. */
  readonly half: bigint
  /** What it pays until half the price, of liquidity that stood. */
  readonly stoodHalf: bigint
}

/** What pools say together. */
export interface Verdict {
  /** For assets: the least of the prices that had depth. */
  readonly price: Decimal
  /** For debts: the greatest of them. */
  readonly debtPrice: Decimal
  /** What the pools near the price pay for the token, US dollars with `USD_DIGITS` digits. */
  readonly bound: bigint
  readonly marks: readonly PriceMark[]
  /** The pools near the price. */
  readonly pools: readonly Address[]
}

/** A pool's price with its weight. */
interface Vote {
  readonly voice: PoolVoice
  readonly price: Decimal
  readonly weight: bigint
}

/** The median of votes, and the votes near it. */
interface Poll {
  readonly price: Decimal
  readonly near: readonly [Vote, ...Vote[]]
}

/**
 * The price of a token by its pools; undefined if nothing stands in any of them. Pools vote by depth: that which stood
 * for most of half an hour and was there at three of four looks. Less than 1,000 US dollars together are `thin`. Prices
 * that had depth more recently, or at the looks alone, never raise an asset and never lower a debt.
 *
 * @figure token0_price, token1_price
 * @source definition: weighted lower medians of the pools' prices
 * @proof test/unit/finance/price/pool/vote_test.ts
 */
export function decidePrice(voices: readonly PoolVoice[]): Verdict | undefined {
  const [byDepth, byStood, bySeen] = [
    toVotes(voices, ({ stood, seen }) => minBigint(stood, seen)),
    toVotes(voices, ({ stood }) => stood),
    toVotes(voices, ({ seen }) => seen),
  ]
  const firm = poll(byDepth, DEPTH_USD_MIN)
  const result = firm ?? poll(byDepth, THIN_USD_MIN) ?? poll(byStood, THIN_USD_MIN)
  if (result === undefined) return decideByBids(voices)
  const { price: mean, near } = result
  const recent = takeMedian(near.map((vote) => ({ ...vote, price: vote.voice.recent ?? vote.price }))) ?? mean
  const veto = poll(bySeen, DEPTH_USD_MIN)?.price
  const isDisputed = veto !== undefined && !isNear(veto, mean)
  const prices = [mean, recent, ...(isDisputed ? [veto] : [])]
  return {
    price: prices.reduce((a, b) => (comparePrices(a, b) <= 0 ? a : b)),
    debtPrice: prices.reduce((a, b) => (comparePrices(a, b) >= 0 ? a : b)),
    bound: near.reduce((sum, { voice }) => sum + minBigint(voice.half, voice.stoodHalf), 0n),
    marks: [
      ...(firm === undefined ? (['thin'] as const) : []),
      ...(isNear(recent, mean) ? [] : (['moved'] as const)),
      ...(isDisputed ? (['disputed'] as const) : []),
    ],
    pools: near.map(({ voice }) => voice.pool),
  }
}

/** The best bid, where no pool has two sides. */
function decideByBids(voices: readonly PoolVoice[]): Verdict | undefined {
  const bids = voices.flatMap((voice) =>
    voice.bestBid === undefined ? [] : [{ voice, price: voice.bestBid, weight: voice.half }],
  )
  const result = poll(bids, THIN_USD_MIN)
  if (result === undefined) return undefined
  const { price, near } = result
  const pools = near.map(({ voice }) => voice.pool)
  return { price, debtPrice: price, bound: sumWeights(near), marks: ['one_sided'], pools }
}

function toVotes(voices: readonly PoolVoice[], weigh: (voice: PoolVoice) => bigint): Vote[] {
  return voices.flatMap((voice) =>
    voice.mean === undefined ? [] : [{ voice, price: voice.mean, weight: weigh(voice) }],
  )
}

/** Takes the median; undefined if the votes near it have too little weight together. */
function poll(votes: readonly Vote[], weightMin: bigint): Poll | undefined {
  const voters = votes.filter(({ weight }) => weight * VOTER_DIVISOR >= weightMin)
  const price = takeMedian(voters)
  if (price === undefined) return undefined
  const [first, ...others] = voters.filter((vote) => isNear(vote.price, price))
  if (first === undefined || sumWeights([first, ...others]) < weightMin) return undefined
  return { price, near: [first, ...others] }
}

/** The weighted lower median: the least price with at least half of the weight at or below it. Undefined without votes. */
export function takeMedian(
  votes: readonly { readonly price: Decimal; readonly weight: bigint }[],
): Decimal | undefined {
  const ascending = votes.toSorted((a, b) => comparePrices(a.price, b.price))
  const total = sumWeights(ascending)
  let sum = 0n
  for (const { price, weight } of ascending) {
    sum += weight
    if (sum * 2n >= total) return price
  }
  return undefined
}

function sumWeights(votes: readonly { readonly weight: bigint }[]): bigint {
  return votes.reduce((sum, { weight }) => sum + weight, 0n)
}

/** True if two prices are at most 513 ticks apart, 5 %. */
export function isNear(a: Decimal, b: Decimal): boolean {
  const [low, high] = comparePrices(a, b) <= 0 ? [a, b] : [b, a]
  return high.units * pow10(low.scale) * RATIO_UNIT <= low.units * pow10(high.scale) * NEAR_RATIO
}

/** Negative if a < b, 0 if they are equal, positive if a > b. */
export function comparePrices(a: Decimal, b: Decimal): number {
  const [left, right] = [a.units * pow10(b.scale), b.units * pow10(a.scale)]
  return left < right ? -1 : left > right ? 1 : 0
}
