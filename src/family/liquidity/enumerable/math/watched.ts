import { isInRange, sqrtPriceAtTickX96, type TokenAmounts } from '../../../../finance/math/liquidity.ts'
import type { Pair } from '../../../../finance/math/pnl/flow.ts'
import { exactSum } from '../../../../finance/price/price.ts'
import { createUsdValuer } from '../../../../finance/token/priced_token.ts'
import { minBigint, pow10 } from '../../../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../../../lib/number/rational.ts'
import { splitOwed } from './fees.ts'
import { computeHeldAmounts, type FigureInput } from './figures.ts'

/** A position, and the withdrawn principal among its owed amounts; undefined if not known. */
export interface WatchedPosition<Input extends FigureInput = FigureInput> {
  readonly position: Input
  readonly withdrawn: Pair<bigint> | undefined
}

/** Figures of a position that triggers can watch. */
export const POSITION_FIGURES = {
  in_range: 'boolean',
  is_active: 'boolean',
  fees_usd: 'number',
  value_usd: 'number',
  distance_to_edge_percentage: 'number',
} as const

type PositionFigure = keyof typeof POSITION_FIGURES

type Value = Rational | boolean | undefined

const VALUES: Readonly<Record<PositionFigure, (watched: WatchedPosition) => Value>> = {
  in_range: ({ position }) => isInRange(position.pool.tick, position),
  is_active: ({ position }) => position.liquidity > 0n,
  fees_usd({ position, withdrawn }) {
    const split = splitOwed(computeHeldAmounts(position).owed, { stored: position.owed, withdrawn })
    return split && toUsd(position, [split.fees])
  },
  value_usd({ position }) {
    const { principal, owed } = computeHeldAmounts(position)
    return toUsd(position, [principal, owed])
  },
  distance_to_edge_percentage: ({ position }) => distanceToEdge(position),
}

/** Value of a figure before rounding; undefined if it cannot be computed or is not watchable. */
export function positionValue(watched: WatchedPosition, figure: string): Value {
  return isFigure(figure) ? VALUES[figure](watched) : undefined
}

/**
 * Distance of the pool's price from the nearer edge of the range, percent of that price: the smaller of price − lower
 * edge and upper edge − price, ÷ price. Below 0 outside the range. Prices are of token0 in token1. No route answers it.
 * Source: definition; v3-core `UniswapV3Pool.slot0`, `TickMath.getSqrtRatioAtTick`.
 */
export function distanceToEdge({
  pool,
  tickLower,
  tickUpper,
}: Pick<FigureInput, 'pool' | 'tickLower' | 'tickUpper'>): Rational {
  const square = (root: bigint): bigint => root * root
  const price = square(pool.sqrtPriceX96)
  const [lower, upper] = [square(sqrtPriceAtTickX96(tickLower)), square(sqrtPriceAtTickX96(tickUpper))]
  return rational(minBigint(price - lower, upper - price) * 100n, price)
}

function toUsd(position: FigureInput, amounts: readonly TokenAmounts[]): Rational | undefined {
  const valueInUsd = createUsdValuer(position)
  if (valueInUsd === undefined) return undefined
  const { units, scale } = exactSum(amounts.flatMap(valueInUsd))
  return rational(units, pow10(scale))
}

function isFigure(figure: string): figure is PositionFigure {
  return Object.hasOwn(VALUES, figure)
}
