import { Q96 } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../../lib/number/rational.ts'
import { sqrtPriceAtTickX96, type TickRange } from '../../math/liquidity.ts'
import type { PositionFlow } from './position_flow.ts'

/**
 * Fewest raw units of a token that tell a price: one unit, which rounding can hide, is then a millionth of the way
 * between the price and an end of the range.
 */
const TELLING_UNITS = 1_000_000n

/**
 * Raw token1 per raw token0 at a flow, if it has the price. Else at a block that has an increase or a decrease in range,
 * from its liquidity and amounts: √P = √Pa + amount1 / L, or 1/√P = 1/√Pb + amount0 / L, whichever has more units. The log
 * nearest to `row` tells, in its transaction first. Undefined if none does: out of range, or amounts too small to tell.
 */
export function poolPriceAt(row: PositionFlow, rows: readonly PositionFlow[], range: TickRange): Rational | undefined {
  if (row.sqrtPriceX96 !== undefined) return toPoolPrice(row.sqrtPriceX96)
  const isApart = (each: PositionFlow) => Number(each.transactionHash !== row.transactionHash)
  const distance = (each: PositionFlow) => Math.abs(each.logIndex - row.logIndex)
  const [nearest] = rows
    .filter((each) => each.block === row.block && hasPoolPrice(each))
    .sort((a, b) => isApart(a) - isApart(b) || distance(a) - distance(b))
  return nearest && priceIn(nearest, range)
}

/** Raw token1 per raw token0 of a square-root price in Q96. */
export function toPoolPrice(sqrtPriceX96: bigint): Rational {
  return squared(sqrtPriceX96, Q96)
}

/** Whether a flow has the price of its pool, or is in range and large enough to tell it. */
export function hasPoolPrice({ kind, liquidity, amount0, amount1, sqrtPriceX96 }: PositionFlow): boolean {
  if (sqrtPriceX96 !== undefined) return true
  if (kind === 'collect' || liquidity === 0n || amount0 === 0n || amount1 === 0n) return false
  return amount0 >= TELLING_UNITS || amount1 >= TELLING_UNITS
}

function priceIn({ liquidity, amount0, amount1 }: PositionFlow, { tickLower, tickUpper }: TickRange): Rational {
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  if (amount1 >= amount0) return squared(lower * liquidity + amount1 * Q96, Q96 * liquidity)
  return squared(upper * liquidity, Q96 * liquidity + amount0 * upper)
}

function squared(numerator: bigint, denominator: bigint): Rational {
  return rational(numerator * numerator, denominator * denominator)
}
