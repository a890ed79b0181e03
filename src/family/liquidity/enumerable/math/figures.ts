import {
  type FeeGrowth,
  feeGrowthInside,
  principal,
  type TickRange,
  type TokenAmounts,
} from '../../../../finance/math/liquidity.ts'
import type { PricedToken } from '../../../../finance/token/priced_token.ts'
import { capByPool, collectable, type SharedRange } from './fees.ts'

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
