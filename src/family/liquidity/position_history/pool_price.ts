import { sqrtPriceAtTickX96, type TickRange } from '../../../finance/math/liquidity.ts'
import { Q96 } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../../lib/number/rational.ts'
import type { PositionFlow } from './position_flow.ts'

/**
 * Fewest raw units of a token that determine a price: one unit, which rounding can hide, is then a millionth of the
 * distance between the price and an end of the range.
 */
const PRICE_UNITS_MIN = 1_000_000n

/**
 * Raw token1 per raw token0 at a flow: its own price, else one computed from an increase or a decrease in range in the
 * same block: √P = √Pa + amount1 / L, or 1/√P = 1/√Pb + amount0 / L, whichever has more units. The log nearest to `row`
 * counts, those of its transaction first. Undefined without such a log: out of range, or amounts too small.
 */
export function poolPriceAt(row: PositionFlow, rows: readonly PositionFlow[], range: TickRange): Rational | undefined {
  if (row.sqrtPriceX96 !== undefined) return toPoolPrice(row.sqrtPriceX96)
  const isInOtherTransaction = (each: PositionFlow) => Number(each.transactionHash !== row.transactionHash)
  const distance = (each: PositionFlow) => Math.abs(each.logIndex - row.logIndex)
  const [nearest] = rows
    .filter((each) => each.block === row.block && hasPoolPrice(each))
    .sort((a, b) => isInOtherTransaction(a) - isInOtherTransaction(b) || distance(a) - distance(b))
  return nearest && computePrice(nearest, range)
}

/** Converts a square-root price in Q96 to raw token1 per raw token0. */
export function toPoolPrice(sqrtPriceX96: bigint): Rational {
  return square(sqrtPriceX96, Q96)
}

/** Whether a flow has the price of its pool, or is in range and large enough to compute it. */
export function hasPoolPrice({ kind, liquidity, amount0, amount1, sqrtPriceX96 }: PositionFlow): boolean {
  if (sqrtPriceX96 !== undefined) return true
  if (kind === 'collect' || liquidity === 0n || amount0 === 0n || amount1 === 0n) return false
  return amount0 >= PRICE_UNITS_MIN || amount1 >= PRICE_UNITS_MIN
}

function computePrice({ liquidity, amount0, amount1 }: PositionFlow, { tickLower, tickUpper }: TickRange): Rational {
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  if (amount1 >= amount0) return square(lower * liquidity + amount1 * Q96, Q96 * liquidity)
  return square(upper * liquidity, Q96 * liquidity + amount0 * upper)
}

function square(numerator: bigint, denominator: bigint): Rational {
  return rational(numerator * numerator, denominator * denominator)
}
