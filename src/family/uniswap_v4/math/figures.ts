import {
  isInRange,
  principal,
  rangePrices,
  sqrtPriceAtTickX96,
  type TokenAmounts,
} from '../../../finance/math/liquidity.ts'
import { sumE6 } from '../../../finance/price/price.ts'
import { createUsdValuer, type PricedToken } from '../../../finance/token/priced_token.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import { computeFees, type FeeInput } from './fees.ts'

/** Inputs of a position's figures. */
interface FigureInput extends FeeInput {
  readonly pool: FeeInput['pool'] & { readonly sqrtPriceX96: bigint }
  readonly token0: PricedToken
  readonly token1: PricedToken
}

/**
 * Amounts that an executed complete withdrawal paid, or why there are none: it reverts, or no endpoint executes it. `fees`:
 * what taking the fees alone paid where the whole withdrawal reverts; absent if that reverts too.
 */
export type Withdrawal =
  | { readonly paid: TokenAmounts }
  | { readonly error: 'reverts' | 'unsupported'; readonly fees?: TokenAmounts }

/**
 * Computes all figures of a position. `withdrawal` is given if the pool's hook is called when liquidity is removed; it
 * then decides the total.
 */
export function computeFigures(position: FigureInput, withdrawal?: Withdrawal) {
  const { pool, tickLower, tickUpper, token0, token1 } = position
  const owed = computeHeldAmounts(position)
  const { principal: amounts, fees } = owed
  const counted = computeCountedAmounts(owed, withdrawal)
  const worth = createUsdValuer(position)
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  const decimals = { decimals0: token0.decimals, decimals1: token1.decimals }
  return {
    /** Amounts that the pool owes for all liquidity. */
    amounts,
    /** Fees that any change of the position would pay besides. */
    fees,
    /** Whether the pool's tick is within the range, so that liquidity there earns. */
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    ...rangePrices({ current: pool.sqrtPriceX96, lower, upper }, decimals),
    /** Millionths; undefined if one of the tokens has no price. */
    usd: worth && {
      amountsE6: sumE6(worth(amounts)),
      feesE6: sumE6(worth(fees)),
      totalE6: counted && sumE6(worth(counted)),
    },
  }
}

/** Amounts that a pool owes a position: for all liquidity, and in fees. */
interface OwedByPool {
  readonly principal: TokenAmounts
  readonly fees: TokenAmounts
}

/** Computes the amounts that the pool owes the position. */
export function computeHeldAmounts(position: Omit<FigureInput, 'token0' | 'token1'>): OwedByPool {
  const { pool, liquidity, tickLower, tickUpper } = position
  const { sqrtPriceX96 } = pool
  return { principal: principal({ sqrtPriceX96, tickLower, tickUpper, liquidity }), fees: computeFees(position) }
}

/** Computes principal and fees together. */
export function computeTotalHeld(position: Omit<FigureInput, 'token0' | 'token1'>): TokenAmounts {
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
