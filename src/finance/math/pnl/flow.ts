import { minBigint } from '../../../lib/number/fixed_point.ts'
import type { Rational } from '../../../lib/number/rational.ts'

/** One thing of each of a pool's two tokens. */
export type Pair<T> = readonly [T, T]

/** US dollars per raw unit of each token, exact. */
export type Prices = Pair<Rational>

/** Liquidity and tokens go into the pool. */
export interface Increase {
  readonly kind: 'increase'
  /** Block time, Unix seconds. */
  readonly timeSec: bigint
  readonly liquidity: bigint
  /** Raw units. */
  readonly amounts: Pair<bigint>
  readonly prices: Prices
}

/** Liquidity leaves the pool; its tokens wait to be collected. */
export interface Decrease {
  readonly kind: 'decrease'
  readonly timeSec: bigint
  readonly liquidity: bigint
  readonly amounts: Pair<bigint>
}

/** Tokens are paid out: what was withdrawn before, and fees. */
export interface Collect {
  readonly kind: 'collect'
  readonly timeSec: bigint
  readonly amounts: Pair<bigint>
  readonly prices: Prices
}

/** What changes a position. Moving its token to another owner is not a flow. */
export type Flow = Increase | Decrease | Collect

/** What of a collect is principal and what is fees. */
export interface CollectSplit {
  readonly principal: Pair<bigint>
  readonly fees: Pair<bigint>
}

/**
 * Splits what a collect pays. One bucket on chain holds both, so principal that was withdrawn before is paid first, and
 * the rest is fees (history.md A.2).
 */
export function splitCollect(amounts: Pair<bigint>, pending: Pair<bigint>): CollectSplit {
  const principal = [minBigint(amounts[0], pending[0]), minBigint(amounts[1], pending[1])] as const
  return { principal, fees: subtractAmounts(amounts, principal) }
}

/** Sum of raw amounts. */
export function addAmounts(a: Pair<bigint>, b: Pair<bigint>): Pair<bigint> {
  return [a[0] + b[0], a[1] + b[1]]
}

/** Difference of raw amounts. */
export function subtractAmounts(a: Pair<bigint>, b: Pair<bigint>): Pair<bigint> {
  return [a[0] - b[0], a[1] - b[1]]
}

/** True if there is nothing of either token. */
export function isZero([amount0, amount1]: Pair<bigint>): boolean {
  return amount0 === 0n && amount1 === 0n
}
