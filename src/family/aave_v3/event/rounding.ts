import { RAY } from '../../../finance/math/rate.ts'

/**
 * How far an amount may be from what its token's log says: since 3.5 balances are rounded to whole scaled units, each
 * worth as much as the index says, and both the amount and the balance are rounded.
 */
export function isWithinRounding(a: bigint, b: bigint, indexRay: bigint = RAY): boolean {
  const apart = a > b ? a - b : b - a
  return apart <= getMaxRounding(indexRay)
}

/** The largest such distance. */
export function getMaxRounding(indexRay: bigint): bigint {
  return indexRay / RAY + 2n
}
