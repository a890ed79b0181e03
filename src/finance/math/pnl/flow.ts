import { minBigint } from '../../../lib/number/fixed_point.ts'
import type { Rational } from '../../../lib/number/rational.ts'

/** One value for each of a pool's two tokens. */
export type Pair<T> = readonly [T, T]

/** US dollars per raw unit of each token, exact. */
export type Prices = Pair<Rational>

/** A flow of liquidity and tokens into the pool. */
export interface Increase {
  readonly kind: 'increase'
  /** Block time, Unix seconds. */
  readonly timeSec: bigint
  readonly liquidity: bigint
  /** Raw units. */
  readonly amounts: Pair<bigint>
  readonly prices: Prices
}

/** A flow of liquidity out of the pool; its tokens wait to be collected. */
export interface Decrease {
  readonly kind: 'decrease'
  readonly timeSec: bigint
  readonly liquidity: bigint
  readonly amounts: Pair<bigint>
}

/** A payout of tokens: withdrawn principal, and fees. */
export interface Collect {
  readonly kind: 'collect'
  readonly timeSec: bigint
  readonly amounts: Pair<bigint>
  readonly prices: Prices
}

/** A change of a position. A transfer of its token to another owner is not a flow. */
export type Flow = Increase | Decrease | Collect

/** Principal and fees of a collect. */
export interface CollectSplit {
  readonly principal: Pair<bigint>
  readonly fees: Pair<bigint>
}

/**
 * Splits a collect into principal and fees. The chain keeps both in one balance, so withdrawn principal is paid first
 * and the rest is fees.
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

/** True if both amounts are zero. */
export function isZero([amount0, amount1]: Pair<bigint>): boolean {
  return amount0 === 0n && amount1 === 0n
}
