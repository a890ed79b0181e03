import type { PricedToken } from '../../../finance/liquidity/priced_token.ts'
import { createUsdValuer } from '../../../finance/liquidity/value_in_usd.ts'
import {
  type FeeGrowth,
  feeGrowthInside,
  isInRange,
  principal,
  rangePrices,
  sqrtPriceAtTickX96,
  type TickRange,
  type TokenAmounts,
} from '../../../finance/math/liquidity.ts'
import type { Pair } from '../../../finance/math/pnl/flow.ts'
import { sumE6 } from '../../../finance/price/price.ts'
import { collectable, splitOwed } from './fees.ts'

/** What a position's figures depend on, at one block. */
export interface FigureInput extends TickRange {
  readonly pool: { readonly sqrtPriceX96: bigint; readonly tick: number; readonly global: FeeGrowth }
  readonly token0: PricedToken
  readonly token1: PricedToken
  readonly liquidity: bigint
  /** What the manager keeps as owed, and the growth of fees inside the range up to which it does. */
  readonly owed: TokenAmounts
  readonly insideLast: FeeGrowth
  /** Counters at both ends of the range; undefined without liquidity, which then earns nothing. */
  readonly outside: { readonly lower: FeeGrowth; readonly upper: FeeGrowth } | undefined
}

/** All figures of a position. `withdrawn`: principal that its flows withdrew and did not collect, if they are known. */
export function computeFigures(position: FigureInput, withdrawn?: Pair<bigint>) {
  const { pool, tickLower, tickUpper } = position
  const { principal: amounts, owed } = computeHeldAmounts(position)
  const split = splitOwed(owed, { stored: position.owed, withdrawn })
  const worth = createUsdValuer(position)
  const decimals = { decimals0: position.token0.decimals, decimals1: position.token1.decimals }
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  return {
    /** What withdrawing all liquidity would pay. */
    amounts,
    /** What collecting would pay without withdrawing: `fees` and `withdrawn` together. */
    owed,
    /** Undefined if nothing tells it from principal. */
    fees: split?.fees,
    /** Principal that was withdrawn and not collected; undefined as `fees` is. */
    withdrawn: split?.withdrawn,
    /** Whether the pool's tick is within the range, so that liquidity there earns. */
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    ...rangePrices({ current: pool.sqrtPriceX96, lower, upper }, decimals),
    /** Millionths; undefined if one of the tokens has no price. */
    usd: worth && {
      amountsE6: sumE6(worth(amounts)),
      feesE6: split && sumE6(worth(split.fees)),
      withdrawnE6: split && sumE6(worth(split.withdrawn)),
      totalE6: sumE6([...worth(amounts), ...worth(owed)]),
    },
  }
}

/** What withdrawing all liquidity would pay, and what collecting would pay without that. */
export function computeHeldAmounts(position: FigureInput): {
  readonly principal: TokenAmounts
  readonly owed: TokenAmounts
} {
  const { pool, liquidity, tickLower, tickUpper } = position
  const { sqrtPriceX96 } = pool
  return { principal: principal({ sqrtPriceX96, tickLower, tickUpper, liquidity }), owed: owedOf(position) }
}

/** Both together. */
export function computeTotalHeld(position: FigureInput): TokenAmounts {
  const { principal, owed } = computeHeldAmounts(position)
  return { amount0: principal.amount0 + owed.amount0, amount1: principal.amount1 + owed.amount1 }
}

function owedOf({ liquidity, owed, insideLast, outside, pool, tickLower, tickUpper }: FigureInput): TokenAmounts {
  if (outside === undefined) return owed
  const { lower: outsideLower, upper: outsideUpper } = outside
  const { tick, global } = pool
  const inside = feeGrowthInside({ tick, tickLower, tickUpper, global, outsideLower, outsideUpper })
  return collectable({ liquidity, owed, inside, insideLast })
}
