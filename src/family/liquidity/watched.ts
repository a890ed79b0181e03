import { formatUsd } from '../../finance/figure.ts'
import { isInRange, sqrtPriceAtTickX96, type TokenAmounts } from '../../finance/math/liquidity.ts'
import { exactSum } from '../../finance/price/price.ts'
import { createUsdValuer } from '../../finance/token/priced_token.ts'
import type { Decimal } from '../../lib/number/decimal.ts'
import { minBigint } from '../../lib/number/fixed_point.ts'
import { formatRational, type Rational, rational, toRational } from '../../lib/number/rational.ts'
import type { ConfirmedFigures, FigureValue } from '../watch.ts'
import type { FigureContext, LiquidityDeployment, LiquidityPosition, LiquidityProtocol } from './protocol.ts'

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

/** Computes each figure before rounding; undefined if it is not known. */
export type FigureFormulas = Readonly<Record<PositionFigure, () => Value>>

/** Creates the formulas of a position's figures by its protocol's fee rule. */
export function createFigureFormulas<
  Deployment extends LiquidityDeployment,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  {
    computeHeldAmounts,
    splitOwed,
  }: Pick<LiquidityProtocol<Deployment, never, Position, Withdrawal>, 'computeHeldAmounts' | 'splitOwed'>,
  position: Position,
  context: FigureContext<Withdrawal>,
): FigureFormulas {
  const { pool, tickLower, tickUpper } = position
  const split = () => splitOwed(position, computeHeldAmounts(position), context)
  const toUsd = (amounts: readonly TokenAmounts[] | undefined) => {
    const valueInUsd = createUsdValuer(position)
    return amounts && valueInUsd && toExactRational(amounts.flatMap(valueInUsd))
  }
  return {
    in_range: () => isInRange(pool.tick, position),
    is_active: () => position.liquidity > 0n,
    fees_usd() {
      const { fees } = split()
      return toUsd(fees && [fees])
    },
    value_usd: () => toUsd(split().total),
    distance_to_edge_percentage: () =>
      distanceToEdge({
        current: pool.sqrtPriceX96,
        lower: sqrtPriceAtTickX96(tickLower),
        upper: sqrtPriceAtTickX96(tickUpper),
      }),
  }
}

/** Computes the exact sum of US dollars. */
export function toExactRational(values: readonly Decimal[]): Rational {
  return toRational(exactSum(values))
}

/**
 * Distance of the pool's price from the nearer edge of the range, percent of that price: the smaller of price − lower
 * edge and upper edge − price, ÷ price. Below 0 outside the range. Prices are of token0 in token1, given as square roots
 * in one fixed-point format. No route answers it. Source: definition; v3-core `UniswapV3Pool.slot0`,
 * `TickMath.getSqrtRatioAtTick`.
 */
export function distanceToEdge(roots: {
  readonly current: bigint
  readonly lower: bigint
  readonly upper: bigint
}): Rational {
  const [price, lower, upper] = [roots.current ** 2n, roots.lower ** 2n, roots.upper ** 2n]
  return rational(minBigint(price - lower, upper - price) * 100n, price)
}

/** Value of a figure before rounding; undefined if it cannot be computed or is not watchable. */
export function computeFigure(formulas: FigureFormulas, figure: string): Value {
  return Object.hasOwn(POSITION_FIGURES, figure) ? formulas[figure as PositionFigure]() : undefined
}

/** Converts a position's formulas to the figures that triggers watch. */
export function toConfirmedFigures(formulas: FigureFormulas, memo?: unknown): ConfirmedFigures {
  return {
    value: (figure): FigureValue => computeFigure(formulas, figure),
    text: (figure) => formatFigure(computeFigure(formulas, figure), figure),
    memo,
  }
}

/** Figures of a position that cannot be decoded. */
export const WATCHED_UNKNOWN: ConfirmedFigures = { value: () => undefined, text: () => null, memo: undefined }

const PERCENTAGE_DIGITS = 4

function formatFigure(value: Value, figure: string): string | boolean | null {
  if (value === undefined || typeof value === 'boolean') return value ?? null
  return figure.endsWith('_usd') ? formatUsd(value) : formatRational(value, { digits: PERCENTAGE_DIGITS })
}
