import { refuseWithdrawal, type Withdrawable } from '../../../finance/withdrawable.ts'
import { minBigint, mulDivUp, WAD } from '../../../lib/number/fixed_point.ts'
import { ORACLE_SCALE } from './market.ts'
import { computePayable, findRefusal, type RuleInput } from './rule.ts'
import type { MarketParams, StoredPosition } from './state.ts'

/**
 * Computes what a withdrawal of the loan tokens that were lent pays alone: as much as the market holds idle. Undefined if
 * that is all of it.
 *
 * @figure assets/amount
 * @source Morpho.sol `withdraw`: `totalBorrowAssets <= totalSupplyAssets` afterwards
 * @proof test/unit/family/morpho_blue/holdings_test.ts, test/contract/portfolio/withdrawable_test.ts
 */
export function computeWithdrawableLoan(position: RuleInput): Withdrawable | undefined {
  const refusal = findRefusal('withdrawal', position)
  if (refusal !== undefined) return refuseWithdrawal(refusal)
  const amount = computePayable(position)
  return amount < position.supplied ? { amount, limitedBy: 'liquidity' } : undefined
}

/**
 * Computes what a withdrawal of the collateral pays alone: what the debt does not need at the oracle's price. Undefined if
 * that is all of it. Exact to the unit.
 *
 * @figure assets/amount
 * @source Morpho.sol `withdrawCollateral`, `_isHealthy`
 * @proof test/unit/family/morpho_blue/holdings_test.ts, test/contract/portfolio/withdrawable_test.ts
 */
export function computeWithdrawableCollateral(
  position: RuleInput & Pick<StoredPosition, 'collateral'> & { readonly params: Pick<MarketParams, 'lltv'> },
): Withdrawable | undefined {
  const refusal = findRefusal('collateral_withdrawal', position)
  if (refusal !== undefined) return refuseWithdrawal(refusal)
  const { owed, collateral, oraclePrice = 0n, params } = position
  if (owed === 0n) return undefined
  if (oraclePrice === 0n || params.lltv === 0n) return { amount: 0n, limitedBy: 'health' }
  // The least collateral whose worth, rounded down twice as the contract does, still bears the debt.
  const needed = mulDivUp(mulDivUp(owed, WAD, params.lltv), ORACLE_SCALE, oraclePrice)
  return { amount: collateral - minBigint(needed, collateral), limitedBy: 'health' }
}
