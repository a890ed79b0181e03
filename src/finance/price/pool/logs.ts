import { Q96, Q128 } from '../../../lib/number/fixed_point.ts'
import { sqrtPriceAtTickX96 } from '../../math/liquidity.ts'
import type { RawPool } from './abi.ts'
import { INTERVALS, type Interval, orient, type Segment, WINDOW_SEC } from './depth.ts'

const TICK_MIN = -887_272
const TICK_MAX = 887_272
const FEE_UNIT = 1_000_000n

/** A change of a pool, in its own ticks. */
export type PoolEvent = { readonly timeSec: number } & (
  | {
      readonly kind: 'swap'
      /** Square root of the price, liquidity and tick after it. */
      readonly sqrtPriceX96: bigint
      readonly liquidity: bigint
      readonly tick: number
      /** What the pool received of `token1`, below zero if it paid. */
      readonly amount1: bigint
    }
  | {
      readonly kind: 'change'
      readonly tickLower: number
      readonly tickUpper: number
      /** Liquidity that a mint adds, below zero for a burn. */
      readonly liquidity: bigint
    }
)

/** A pool's tick and liquidity from a moment on. */
interface Step {
  readonly fromSec: number
  readonly tick: number
  readonly liquidity: bigint
}

/**
 * Computes the twelve intervals of a window from the events in it and what stands at its end: ticks and liquidity are
 * steps between events. `fee` is the tier's, millionths.
 *
 * @source v3-core `SwapMath.computeSwapStep`: √P before a swap is √P after it, less its net amount of `token1` over L
 */
export function computeLogIntervals(
  events: readonly PoolEvent[],
  pool: Pick<RawPool, 'sqrtPriceX96' | 'liquidity'>,
  options: { readonly fee: number; readonly timeSec: number; readonly isToken1: boolean },
): Interval[] {
  const { timeSec, isToken1 } = options
  const startSec = timeSec - WINDOW_SEC
  const steps = toSteps(events, { fromSec: startSec, ...findStart(events, pool, options.fee) })
  const length = WINDOW_SEC / INTERVALS
  return Array.from({ length: INTERVALS }, (_, index) => {
    const [from, until] = [startSec + index * length, startSec + (index + 1) * length]
    let [ticks, inverse] = [0, 0n]
    for (const [at, { fromSec, tick, liquidity }] of steps.entries()) {
      const seconds = Math.min(until, steps[at + 1]?.fromSec ?? timeSec) - Math.max(from, fromSec)
      if (seconds <= 0) continue
      ticks += tick * seconds
      inverse += (BigInt(seconds) * Q128) / (liquidity > 0n ? liquidity : 1n)
    }
    const liquidity = inverse === 0n ? 0n : (BigInt(length) * Q128) / inverse
    return { seconds: length, tick: orient(Math.floor(ticks / length), isToken1), liquidity }
  })
}

function findStart(
  events: readonly PoolEvent[],
  { sqrtPriceX96, liquidity }: Pick<RawPool, 'sqrtPriceX96' | 'liquidity'>,
  fee: number,
): Pick<Step, 'tick' | 'liquidity'> {
  const firstSwap = events.findIndex(({ kind }) => kind === 'swap')
  const swap = events[firstSwap]
  const start =
    swap?.kind === 'swap'
      ? { tick: findTick(undoSwap(swap, fee)), liquidity: swap.liquidity }
      : { tick: findTick(sqrtPriceX96), liquidity }
  for (const event of firstSwap < 0 ? events : events.slice(0, firstSwap)) {
    if (event.kind === 'change' && isAround(event, start.tick)) start.liquidity -= event.liquidity
  }
  return start
}

function undoSwap(
  { sqrtPriceX96, liquidity, amount1 }: Extract<PoolEvent, { readonly kind: 'swap' }>,
  fee: number,
): bigint {
  if (liquidity === 0n) return sqrtPriceX96
  const net = amount1 > 0n ? (amount1 * (FEE_UNIT - BigInt(fee))) / FEE_UNIT : amount1
  const before = sqrtPriceX96 - (net * Q96) / liquidity
  return before > 0n ? before : sqrtPriceX96
}

function toSteps(events: readonly PoolEvent[], start: Step): Step[] {
  const steps = [start]
  let current = start
  for (const event of events) {
    const fromSec = Math.max(start.fromSec, event.timeSec)
    if (event.kind === 'swap') current = { fromSec, tick: event.tick, liquidity: event.liquidity }
    else if (!isAround(event, current.tick)) continue
    else current = { fromSec, tick: current.tick, liquidity: current.liquidity + event.liquidity }
    steps.push(current)
  }
  return steps
}

function isAround(range: { readonly tickLower: number; readonly tickUpper: number }, tick: number): boolean {
  return range.tickLower <= tick && tick < range.tickUpper
}

/** The greatest tick whose square root is at most this one. */
export function findTick(sqrtPriceX96: bigint): number {
  let [low, high] = [TICK_MIN, TICK_MAX]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (sqrtPriceAtTickX96(middle) <= sqrtPriceX96) low = middle
    else high = middle - 1
  }
  return low
}

/**
 * Takes away, range by range, the liquidity that was minted in a window and not burned again: what is new proves nothing
 * where no earlier state is known.
 */
export function dropNewLiquidity(
  segments: readonly Segment[],
  events: readonly PoolEvent[],
  isToken1: boolean,
): Segment[] {
  const added = new Map<string, { readonly lowX96: bigint; readonly highX96: bigint; liquidity: bigint }>()
  for (const event of events) {
    if (event.kind !== 'change') continue
    const { tickLower, tickUpper } = event
    const key = `${tickLower}:${tickUpper}`
    const range = added.get(key) ?? { ...toRange(tickLower, tickUpper, isToken1), liquidity: 0n }
    range.liquidity += event.liquidity
    added.set(key, range)
  }
  const ranges = [...added.values()].filter(({ liquidity }) => liquidity > 0n)
  return segments
    .map((segment) => {
      const inside = ranges.filter(({ lowX96, highX96 }) => lowX96 < segment.highX96 && segment.lowX96 < highX96)
      return { ...segment, liquidity: inside.reduce((rest, { liquidity }) => rest - liquidity, segment.liquidity) }
    })
    .filter(({ liquidity }) => liquidity > 0n)
}

function toRange(tickLower: number, tickUpper: number, isToken1: boolean) {
  const [low, high] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  const square = Q96 * Q96
  return isToken1 ? { lowX96: square / high, highX96: square / low } : { lowX96: low, highX96: high }
}
