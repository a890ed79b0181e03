import { usdValue } from '../../chain/price.ts'
import {
  feeGrowthInside,
  isInRange,
  priceText,
  principal,
  sqrtPriceAtTickX96,
  sumE6,
  type TokenAmounts,
  uncollectedFees,
} from './math.ts'
import type { Position } from './position.ts'

/** Current price and both bounds of the range, decimal text. */
interface RangePrices {
  readonly current: string
  readonly lower: string
  readonly upper: string
}

/** USD in millionths; undefined if one of the tokens has no price. */
interface UsdFigures {
  readonly amountsE6: bigint
  readonly feesE6: bigint
  readonly totalE6: bigint
}

/** The figures of a position. */
export interface Figures {
  /** What withdrawing all liquidity would pay. */
  readonly amounts: TokenAmounts
  /** What collecting would pay without withdrawing. Includes principal that was withdrawn and not yet collected. */
  readonly fees: TokenAmounts
  /** Whether the pool's tick is within the range, so that liquidity there earns. */
  readonly inRange: boolean
  /** Whole token1 per whole token0. */
  readonly prices: RangePrices
  /** Whole token0 per whole token1; lower and upper are swapped. */
  readonly inverse: RangePrices
  readonly usd: UsdFigures | undefined
}

/** All figures of a position, from its state alone. */
export function figuresOf(position: Position): Figures {
  const { pool, liquidity, tickLower, tickUpper } = position
  const amounts = principal({ sqrtPriceX96: pool.sqrtPriceX96, tickLower, tickUpper, liquidity })
  const fees = feesOf(position)
  const decimals = { decimals0: position.token0.decimals, decimals1: position.token1.decimals }
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  const price = (sqrtPriceX96: bigint, inverse: boolean) => priceText(sqrtPriceX96, { ...decimals, inverse })
  return {
    amounts,
    fees,
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    prices: { current: price(pool.sqrtPriceX96, false), lower: price(lower, false), upper: price(upper, false) },
    inverse: { current: price(pool.sqrtPriceX96, true), lower: price(upper, true), upper: price(lower, true) },
    usd: usdOf(position, { amounts, fees }),
  }
}

function feesOf({ liquidity, owed, insideLast, outside, pool, tickLower, tickUpper }: Position): TokenAmounts {
  if (outside === undefined) return owed
  const { lower: outsideLower, upper: outsideUpper } = outside
  const { tick, global } = pool
  const inside = feeGrowthInside({ tick, tickLower, tickUpper, global, outsideLower, outsideUpper })
  return uncollectedFees({ liquidity, owed, inside, insideLast })
}

function usdOf({ token0, token1 }: Position, { amounts, fees }: Pick<Figures, 'amounts' | 'fees'>): Figures['usd'] {
  const [price0, price1] = [token0.price, token1.price]
  if (price0 === undefined || price1 === undefined) return undefined
  const worth = ({ amount0, amount1 }: TokenAmounts) => [
    usdValue(amount0, { decimals: token0.decimals, price: price0 }),
    usdValue(amount1, { decimals: token1.decimals, price: price1 }),
  ]
  const [principalUsd, feesUsd] = [worth(amounts), worth(fees)]
  return { amountsE6: sumE6(principalUsd), feesE6: sumE6(feesUsd), totalE6: sumE6([...principalUsd, ...feesUsd]) }
}
