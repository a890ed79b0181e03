import type { Withdrawable } from '../../../finance/withdrawable.ts'
import { maxBigint, minBigint, mulDivUp, WAD } from '../../../lib/number/fixed_point.ts'
import { type Collateral, computeMaxDebt, type Debt, ORACLE_SCALE } from './account.ts'
import type { MarketState } from './state.ts'

/**
 * Computes what a withdrawal of a credit pays alone: what borrowers have repaid and no lender took yet. Undefined if that
 * is all of it.
 *
 * @figure assets/amount
 * @source Midnight `withdraw`
 * @proof test/contract/family/morpho_midnight/vectors_test.ts
 */
export function computeWithdrawableCredit(
  credit: bigint,
  { withdrawable }: Pick<MarketState, 'withdrawable'>,
): Withdrawable | undefined {
  return withdrawable < credit ? { amount: withdrawable, limitedBy: 'liquidity' } : undefined
}

/**
 * Computes what a withdrawal of a collateral pays alone: what the debt does not need at the prices of the market's
 * oracles. Undefined if that is all of it. Exact to the unit.
 *
 * @figure assets/amount
 * @source Midnight `withdrawCollateral`, `isHealthy`
 * @proof test/contract/family/morpho_midnight/vectors_test.ts
 */
export function computeWithdrawableCollateral(
  { debt, collaterals }: Debt,
  collateral: Collateral,
): Withdrawable | undefined {
  if (debt === 0n) return undefined
  const others = computeMaxDebt(collaterals.filter(({ index }) => index !== collateral.index))
  const { amount, oraclePrice, lltvWad } = collateral
  if (others === undefined || oraclePrice === undefined) return { amount: 0n, limitedBy: 'price' }
  const uncovered = maxBigint(debt - others, 0n)
  if (uncovered === 0n) return undefined
  if (oraclePrice === 0n || lltvWad === 0n) return { amount: 0n, limitedBy: 'health' }
  // The least collateral whose worth, rounded down twice as the contract does, still backs the rest of the debt.
  const needed = mulDivUp(mulDivUp(uncovered, WAD, lltvWad), ORACLE_SCALE, oraclePrice)
  return { amount: amount - minBigint(needed, amount), limitedBy: 'health' }
}
