import {
  type FeeGrowth,
  feeGrowthInside,
  principal,
  type TickRange,
  type TokenAmounts,
} from '../../../finance/math/liquidity.ts'
import { minBigint, mulDivDown, Q128, wrap256 } from '../../../lib/number/fixed_point.ts'

/** Inputs of a position's figures. */
interface FigureInput extends FeeInput {
  readonly pool: FeeInput['pool'] & { readonly sqrtPriceX96: bigint }
}

/**
 * Amounts that an executed complete withdrawal paid, or why there are none: it reverts, or no endpoint executes it. `fees`:
 * what taking the fees alone paid where the whole withdrawal reverts; absent if that reverts too.
 */
export type Withdrawal =
  | { readonly paid: TokenAmounts }
  | { readonly error: 'reverts' | 'unsupported'; readonly fees?: TokenAmounts }

/** Amounts that a pool owes a position: for all liquidity, and in fees. */
interface OwedByPool {
  readonly principal: TokenAmounts
  readonly fees: TokenAmounts
}

/** Computes the amounts that the pool owes the position. */
export function computeHeldAmounts(position: FigureInput): OwedByPool {
  const { pool, liquidity, tickLower, tickUpper } = position
  const { sqrtPriceX96 } = pool
  return { principal: principal({ sqrtPriceX96, tickLower, tickUpper, liquidity }), fees: computeFees(position) }
}

/** Computes principal and fees together. */
export function computeTotalHeld(position: FigureInput): TokenAmounts {
  return sumOwed(computeHeldAmounts(position))
}

/**
 * What of a position counts: all that the pool owes, or what a withdrawal pays, and of each token no more than the pool
 * owes: a hook can promise the same bonus to every position. Undefined if the withdrawal did not pay.
 *
 * @figure uniswap-v4/total, uniswap-v4/amount
 * @source v4-core `Hooks.afterRemoveLiquidity`; v4-periphery `PositionManager._decrease`
 * @proof test/unit/family/uniswap_v4/figures_test.ts
 */
export function computeCountedAmounts(owed: OwedByPool, withdrawal: Withdrawal | undefined): TokenAmounts | undefined {
  const all = sumOwed(owed)
  if (withdrawal === undefined) return all
  if ('error' in withdrawal) return undefined
  const { paid } = withdrawal
  return { amount0: minBigint(paid.amount0, all.amount0), amount1: minBigint(paid.amount1, all.amount1) }
}

/** What of the fees can be taken alone, and of each token no more than the pool owes. Nothing if they cannot. */
export function computeTakenFees({ fees }: Pick<OwedByPool, 'fees'>, taken: TokenAmounts | undefined): TokenAmounts {
  const { amount0, amount1 } = taken ?? { amount0: 0n, amount1: 0n }
  return { amount0: minBigint(amount0, fees.amount0), amount1: minBigint(amount1, fees.amount1) }
}

function sumOwed({ principal, fees }: OwedByPool): TokenAmounts {
  return { amount0: principal.amount0 + fees.amount0, amount1: principal.amount1 + fees.amount1 }
}

/** Inputs of a position's fees: the position and its pool. */
interface FeeInput extends TickRange {
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
export function computeFees(position: FeeInput): TokenAmounts {
  const { liquidity, growth } = position
  const inside = computeInside(position)
  if (growth === undefined || inside === undefined) return { amount0: 0n, amount1: 0n }
  return earned({ liquidity, from: growth.insideLast, to: inside })
}

/** Fee growth inside the range; undefined if it was not read, because the position has no liquidity. */
export function computeInside({ tickLower, tickUpper, growth, pool }: FeeInput): FeeGrowth | undefined {
  if (growth === undefined) return undefined
  const { lower: outsideLower, upper: outsideUpper } = growth
  return feeGrowthInside({ ...pool, tickLower, tickUpper, outsideLower, outsideUpper })
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
