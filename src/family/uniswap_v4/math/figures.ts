import { principal, type TokenAmounts } from '../../../finance/math/liquidity.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import { computeFees, type FeeInput } from './fees.ts'

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
