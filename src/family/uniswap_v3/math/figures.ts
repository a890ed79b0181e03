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
import { createUsdValuer, type PricedToken } from '../../../finance/token/priced_token.ts'
import { capByPool, collectable, type SharedRange, splitOwed } from './fees.ts'

/** Inputs of a position's figures, at one block. */
export interface FigureInput extends TickRange {
  readonly pool: { readonly sqrtPriceX96: bigint; readonly tick: number; readonly global: FeeGrowth }
  readonly token0: PricedToken
  readonly token1: PricedToken
  readonly liquidity: bigint
  /** Amounts that the manager stores as owed, and the fee growth inside the range up to which it counted them. */
  readonly owed: TokenAmounts
  readonly insideLast: FeeGrowth
  readonly shared: SharedRange
  /** Fee growth outside both ends of the range; undefined without liquidity, because nothing is earned then. */
  readonly outside: { readonly lower: FeeGrowth; readonly upper: FeeGrowth } | undefined
}

/** Computes all figures of a position. `withdrawn`: principal withdrawn and not collected, if its flows are known. */
export function computeFigures(position: FigureInput, withdrawn?: Pair<bigint>) {
  const { pool, tickLower, tickUpper } = position
  const { principal: amounts, owed } = computeHeldAmounts(position)
  const split = splitOwed(owed, { stored: position.owed, withdrawn })
  const valueInUsd = createUsdValuer(position)
  const decimals = { decimals0: position.token0.decimals, decimals1: position.token1.decimals }
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  return {
    /** Payout of withdrawing all liquidity. */
    amounts,
    /** Payout of collecting without withdrawing: `fees` plus `withdrawn`. */
    owed,
    /** Undefined if fees cannot be separated from withdrawn principal. */
    fees: split?.fees,
    /** Principal that was withdrawn and not collected; undefined if `fees` is. */
    withdrawn: split?.withdrawn,
    /** True if the pool's tick is within the range, so that its liquidity earns fees. */
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    ...rangePrices({ current: pool.sqrtPriceX96, lower, upper }, decimals),
    /** Millionths of a US dollar; undefined if one of the tokens has no price. */
    usd: valueInUsd && {
      amountsE6: sumE6(valueInUsd(amounts)),
      feesE6: split && sumE6(valueInUsd(split.fees)),
      withdrawnE6: split && sumE6(valueInUsd(split.withdrawn)),
      totalE6: sumE6([...valueInUsd(amounts), ...valueInUsd(owed)]),
    },
  }
}

/** Computes the payout of withdrawing all liquidity, and of collecting without that. */
export function computeHeldAmounts(position: FigureInput): {
  readonly principal: TokenAmounts
  readonly owed: TokenAmounts
  /** What the manager counts as owed: `owed` and the units that the pool lacks. */
  readonly counted: TokenAmounts
} {
  const { pool, liquidity, tickLower, tickUpper } = position
  const { sqrtPriceX96 } = pool
  return { principal: principal({ sqrtPriceX96, tickLower, tickUpper, liquidity }), ...computeOwed(position) }
}

/** Computes principal and owed amounts together. */
export function computeTotalHeld(position: FigureInput): TokenAmounts {
  const { principal, owed } = computeHeldAmounts(position)
  return { amount0: principal.amount0 + owed.amount0, amount1: principal.amount1 + owed.amount1 }
}

function computeOwed(position: FigureInput): { readonly owed: TokenAmounts; readonly counted: TokenAmounts } {
  const { liquidity, shared } = position
  const inside = computeInside(position)
  const counted = inside === undefined ? position.owed : collectable({ ...position, inside })
  return { owed: capByPool(counted, { liquidity, inside, shared }), counted }
}

function computeInside({ outside, pool, tickLower, tickUpper }: FigureInput): FeeGrowth | undefined {
  if (outside === undefined) return undefined
  const { lower: outsideLower, upper: outsideUpper } = outside
  const { tick, global } = pool
  return feeGrowthInside({ tick, tickLower, tickUpper, global, outsideLower, outsideUpper })
}
