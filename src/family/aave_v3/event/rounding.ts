import { RAY } from '../../../finance/math/rate.ts'

/**
 * True if two amounts differ by rounding only. Since 3.5 balances are rounded to whole scaled units, each worth the
 * index, and both the amount and the balance are rounded.
 */
export function isWithinRounding(a: bigint, b: bigint, indexRay: bigint = RAY): boolean {
  const distance = a > b ? a - b : b - a
  return distance <= getMaxRounding(indexRay)
}

/** The largest difference by rounding, smallest units. */
export function getMaxRounding(indexRay: bigint): bigint {
  return indexRay / RAY + 2n
}
