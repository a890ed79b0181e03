import { maxBigint, minBigint, Q96, Q128 } from '../../../lib/number/fixed_point.ts'
import { sqrtPriceAtTickX96 } from '../../math/liquidity.ts'
import type { OracleSums, RawPool, TickSide } from './abi.ts'

/** Length of the window that a price rests on, and of the part that tells the recent price, seconds. */
export const WINDOW_SEC = 1_800
const RECENT_SEC = 300
/** Intervals of the window where the pool's oracle remembers it. */
export const INTERVALS = 12
/** The share of the window for which less liquidity stood than the one that counts: it stood for 7/12, 17.5 minutes. */
const ABSENT = { numerator: 5, denominator: 12 } as const
/** Liquidity of two intervals is equal within a millionth. */
const EQUAL = { numerator: 999_999n, denominator: 1_000_000n } as const
/** An interval tells the recent price if a hundredth of that liquidity stood. */
const FAINT = 100n
/** Ticks of 5 % and of half a price. */
export const NEAR_TICKS = 513
const HALF_TICKS = 6_932
const TICK_MAX = 887_272

/**
 * A stretch of time in a pool, in ticks that rise with the priced token's price: the mean tick, rounded down in the
 * pool's own ticks, and the harmonic mean of its liquidity.
 */
export interface Interval {
  readonly seconds: number
  readonly tick: number
  readonly liquidity: bigint
}

/** Sums of the oracle at a moment. */
export interface SumsAt extends OracleSums {
  readonly timeSec: number
}

/** What stood in a pool over the window. Square roots are those of the priced token's price, Q96. */
export interface Standing {
  /** Harmonic liquidity that stood for 7/12 of the window. */
  readonly liquidity: bigint
  /** Median tick while it stood, and mean tick of the last five minutes. */
  readonly meanTick: number
  readonly recentTick: number
}

/** What stands in a pool at a moment: quote tokens, smallest units. */
export interface Look {
  /** Bids and asks within 5 % of the pool's price and quote tokens in the pool: the least of the three. */
  readonly two: bigint
  /** Bids down to half the price. */
  readonly half: bigint
  /** Square root of the best of these bids, Q96; undefined without any. */
  readonly bestBidX96: bigint | undefined
}

/** A range with one liquidity, as square roots of the priced token's price. */
export interface Segment {
  readonly lowX96: bigint
  readonly highX96: bigint
  readonly liquidity: bigint
}

/** The pool of an unlucky look: it was not there. */
export const ABSENT_LOOK: Look = { two: 0n, half: 0n, bestBidX96: undefined }

/** Cuts a series of sums, oldest first, into intervals; moments without time between them give none. */
export function toIntervals(sums: readonly SumsAt[], { isToken1 }: { readonly isToken1: boolean }): Interval[] {
  return sums.slice(1).flatMap((last, index) => {
    const first = sums[index]
    if (first === undefined || last.timeSec <= first.timeSec) return []
    const seconds = last.timeSec - first.timeSec
    const tick = divideDown(BigInt.asIntN(56, last.tickSum - first.tickSum), BigInt(seconds))
    const inverse = BigInt.asUintN(160, last.inverseSum - first.inverseSum)
    const liquidity = inverse === 0n ? 0n : (BigInt(seconds) * Q128) / inverse
    return [{ seconds, tick: orient(tick, isToken1), liquidity }]
  })
}

/** Cuts the sums of a window at equal steps, the last of them at `timeSec`, into its intervals. */
export function toWindowIntervals(
  sums: readonly OracleSums[],
  { timeSec, isToken1 }: { readonly timeSec: number; readonly isToken1: boolean },
): Interval[] {
  const step = WINDOW_SEC / (sums.length - 1)
  const sumsAt = sums.map((each, index) => ({ ...each, timeSec: timeSec - WINDOW_SEC + index * step }))
  return toIntervals(sumsAt, { isToken1 })
}

/**
 * Computes what stood in a pool; undefined without any interval. Time of the window without an interval counts as time
 * without liquidity.
 *
 * @source definition: the sixth smallest of twelve harmonic liquidities; the lower median of ticks where as much stood
 */
export function computeStanding(intervals: readonly Interval[]): Standing | undefined {
  if (intervals.length === 0) return undefined
  const seconds = sumSeconds(intervals)
  const missing = { seconds: Math.max(0, WINDOW_SEC - seconds), liquidity: 0n }
  const byLiquidity = [...intervals, missing].sort((a, b) => compare(a.liquidity, b.liquidity))
  const liquidity = takeAtShare(byLiquidity, ABSENT).liquidity
  // Sums of the oracle are rounded, so that liquidity that stood still differs by single units.
  const standing = intervals.filter((each) => each.liquidity * EQUAL.denominator >= liquidity * EQUAL.numerator)
  const whole = standing.filter(isWhole)
  const full = (whole.length > 0 ? whole : standing).sort((a, b) => a.tick - b.tick)
  const half = { numerator: 1, denominator: 2 }
  const meanTick = takeAtShare(full, half, true).tick
  return { liquidity, meanTick, recentTick: computeRecentTick(intervals, liquidity) ?? meanTick }
}

function computeRecentTick(intervals: readonly Interval[], liquidity: bigint): number | undefined {
  let left = RECENT_SEC
  let seconds = 0
  let ticks = 0
  for (const each of intervals.toReversed()) {
    const taken = Math.min(left, each.seconds)
    left -= taken
    if (taken === 0 || !isWhole(each) || each.liquidity * FAINT < liquidity) continue
    seconds += taken
    ticks += each.tick * taken
  }
  return seconds === 0 ? undefined : Math.floor(ticks / seconds)
}

/**
 * False if the pool had no liquidity for a second of the interval: such a second counts as liquidity 1, so that their
 * harmonic mean is at most the number of seconds. The price of such a second is any one that a swap was let go to.
 */
function isWhole({ seconds, liquidity }: Interval): boolean {
  return liquidity > BigInt(seconds)
}

/**
 * Takes the first row, in ascending order, at which the seconds so far exceed a share of all; or reach it, with
 * `isReached`.
 */
function takeAtShare<Row extends { readonly seconds: number }>(
  rows: readonly Row[],
  { numerator, denominator }: { readonly numerator: number; readonly denominator: number },
  isReached = false,
): Row {
  const total = sumSeconds(rows)
  let sum = 0
  for (const row of rows) {
    sum += row.seconds
    const excess = sum * denominator - total * numerator
    if (excess > 0 || (isReached && excess === 0)) return row
  }
  const last = rows.at(-1)
  if (last === undefined) throw new RangeError('Cannot take a share of nothing')
  return last
}

function sumSeconds(rows: readonly { readonly seconds: number }[]): number {
  return rows.reduce((sum, each) => sum + each.seconds, 0)
}

/**
 * Quote tokens that full-range liquidity pays while the price falls by some ticks: L·√P·(1 − √w).
 *
 * @source v3-core `SqrtPriceMath.getAmount1Delta`
 */
export function computeBidsBelow(liquidity: bigint, topX96: bigint, fallTicks: number): bigint {
  return (liquidity * (topX96 - (topX96 * sqrtPriceAtTickX96(-fallTicks)) / Q96)) / Q96
}

/** Quote tokens within 5 % below a tick, and down to half its price, of liquidity over all prices. */
export function computeFlatDepth({ liquidity, meanTick }: Standing): { readonly near: bigint; readonly half: bigint } {
  const topX96 = sqrtPriceAtTickX96(clampTick(meanTick))
  return {
    near: computeBidsBelow(liquidity, topX96, NEAR_TICKS),
    half: computeBidsBelow(liquidity, topX96, HALF_TICKS),
  }
}

/** Computes what stands in a pool at a block, around its own price. */
export function computeLook(pool: RawPool, segments: readonly Segment[], isToken1: boolean): Look {
  const spot = toSpotX96(pool, isToken1)
  const bid = sumBetween(segments, (spot * sqrtPriceAtTickX96(-NEAR_TICKS)) / Q96, spot)
  const ask = sumBetween(segments, spot, (spot * sqrtPriceAtTickX96(NEAR_TICKS)) / Q96)
  const halfX96 = (spot * sqrtPriceAtTickX96(-HALF_TICKS)) / Q96
  const bids = segments.filter(({ lowX96, highX96 }) => lowX96 < spot && highX96 > halfX96)
  return {
    two: minBigint(minBigint(bid, ask), pool.quoteRaw),
    half: sumBetween(segments, halfX96, spot),
    bestBidX96: bids.length === 0 ? undefined : bids.map(({ highX96 }) => highX96).reduce(maxBigint),
  }
}

/** The square root of the priced token's price now, Q96. */
export function toSpotX96({ sqrtPriceX96 }: Pick<RawPool, 'sqrtPriceX96'>, isToken1: boolean): bigint {
  return isToken1 ? (Q96 * Q96) / sqrtPriceX96 : sqrtPriceX96
}

/** A pool's liquidity by ranges, those without any left out; only as far as its ticks were read. */
export function toSegments({ sqrtPriceX96, liquidity, below, above }: RawPool, isToken1: boolean): Segment[] {
  const low = walk(below, { liquidity, startX96: sqrtPriceX96, sign: -1n })
  const high = walk(above, { liquidity, startX96: sqrtPriceX96, sign: 1n })
  return [...low, ...high]
    .map(({ fromX96, toX96, liquidity: each }) => toSegment(fromX96, toX96, each, isToken1))
    .filter(({ lowX96, highX96, liquidity: each }) => each > 0n && lowX96 < highX96)
}

/** The ranges of one side, away from the price. */
function walk(
  { ticks, end }: TickSide,
  { liquidity, startX96, sign }: { readonly liquidity: bigint; readonly startX96: bigint; readonly sign: bigint },
) {
  const ranges: { readonly fromX96: bigint; readonly toX96: bigint; readonly liquidity: bigint }[] = []
  let [fromX96, current] = [startX96, liquidity]
  for (const { tick, net } of ticks) {
    const toX96 = sqrtPriceAtTickX96(clampTick(tick))
    ranges.push({ fromX96, toX96, liquidity: current })
    current += sign * net
    fromX96 = toX96
  }
  ranges.push({ fromX96, toX96: sqrtPriceAtTickX96(clampTick(end)), liquidity: current })
  return ranges
}

function toSegment(a: bigint, b: bigint, liquidity: bigint, isToken1: boolean): Segment {
  const [low, high] = a < b ? [a, b] : [b, a]
  if (!isToken1) return { lowX96: low, highX96: high, liquidity }
  const square = Q96 * Q96
  return { lowX96: square / high, highX96: square / low, liquidity }
}

/** Quote tokens that liquidity turns over between two prices. */
function sumBetween(segments: readonly Segment[], lowX96: bigint, highX96: bigint): bigint {
  let sum = 0n
  for (const { lowX96: from, highX96: to, liquidity } of segments) {
    const [a, b] = [from > lowX96 ? from : lowX96, minBigint(to, highX96)]
    if (a < b) sum += liquidity * (b - a)
  }
  return sum / Q96
}

/** Turns a tick of the pool to one that rises with the priced token's price. */
export function orient(tick: number, isToken1: boolean): number {
  return isToken1 ? 0 - tick : tick
}

function clampTick(tick: number): number {
  return Math.min(TICK_MAX, Math.max(-TICK_MAX, tick))
}

function divideDown(dividend: bigint, divisor: bigint): number {
  const remainder = ((dividend % divisor) + divisor) % divisor
  return Number((dividend - remainder) / divisor)
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}
