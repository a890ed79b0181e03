import { type FeeGrowth, feeGrowthInside, type TickRange, type TokenAmounts } from '../../../finance/math/liquidity.ts'
import { mulDivDown, Q128, wrap256 } from '../../../lib/number/fixed_point.ts'

/** Inputs of a position's fees: the position and its pool. */
export interface FeeInput extends TickRange {
  readonly liquidity: bigint
  /** Undefined without liquidity: every change pays all fees, so nothing is owed then. */
  readonly growth: { readonly insideLast: FeeGrowth; readonly lower: FeeGrowth; readonly upper: FeeGrowth } | undefined
  readonly pool: { readonly tick: number; readonly global: FeeGrowth }
}

/**
 * The fees that any change of the position would pay now: growth within the range since its last change, times liquidity.
 * Nothing is ever owed besides.
 *
 * @figure uniswap-v4/uncollected_fees
 * @source v4-core `Position.update`, `Pool.getFeeGrowthInside`
 * @proof test/unit/family/uniswap_v4/figures_test.ts
 */
export function computeFees({ liquidity, tickLower, tickUpper, growth, pool }: FeeInput): TokenAmounts {
  if (growth === undefined) return { amount0: 0n, amount1: 0n }
  const { insideLast, lower: outsideLower, upper: outsideUpper } = growth
  const inside = feeGrowthInside({ ...pool, tickLower, tickUpper, outsideLower, outsideUpper })
  return earned({ liquidity, from: insideLast, to: inside })
}

/** The fees that liquidity earns while growth within its range goes from one state to another. */
export function earned(change: {
  readonly liquidity: bigint
  readonly from: FeeGrowth
  readonly to: FeeGrowth
}): TokenAmounts {
  const { liquidity, from, to } = change
  const fees = (last: bigint, now: bigint): bigint => mulDivDown(wrap256(now - last), liquidity, Q128)
  return { amount0: fees(from.growth0, to.growth0), amount1: fees(from.growth1, to.growth1) }
}
