import type { Withdrawable } from '../../../finance/withdrawable.ts'
import { minBigint, mulDivUp, WAD } from '../../../lib/number/fixed_point.ts'
import { computeIdleLiquidity, ORACLE_SCALE } from './market.ts'
import type { MarketParams, MarketState, StoredPosition } from './state.ts'

/** Inputs of what a position lets out. */
interface Position extends Pick<StoredPosition, 'collateral'> {
  /** False if the contract cannot accrue interest. */
  readonly isAccrued: boolean
  readonly market: MarketState
  readonly params: Pick<MarketParams, 'lltv'>
  /** Raw units of the loan token. */
  readonly supplied: bigint
  readonly owed: bigint
  /** Undefined if the oracle is silent. */
  readonly oraclePrice: bigint | undefined
}

/**
 * Computes what a withdrawal of the loan tokens that were lent pays alone: as much as the market holds idle. Undefined if
 * that is all of it.
 *
 * @figure assets/amount
 * @source Morpho.sol `withdraw`: `totalBorrowAssets <= totalSupplyAssets` afterwards
 * @proof test/unit/family/morpho_blue/holdings_test.ts, test/contract/portfolio/withdrawable_test.ts
 */
export function computeWithdrawableLoan({ isAccrued, market, supplied }: Position): Withdrawable | undefined {
  if (!isAccrued) return HALTED
  const idle = computeIdleLiquidity(market)
  return supplied > idle ? { amount: idle, limitedBy: 'liquidity' } : undefined
}

/**
 * Computes what a withdrawal of the collateral pays alone: what the debt does not need at the oracle's price. Undefined if
 * that is all of it. Exact to the unit.
 *
 * @figure assets/amount
 * @source Morpho.sol `withdrawCollateral`, `_isHealthy`
 * @proof test/unit/family/morpho_blue/holdings_test.ts, test/contract/portfolio/withdrawable_test.ts
 */
export function computeWithdrawableCollateral(position: Position): Withdrawable | undefined {
  const { isAccrued, owed, collateral, oraclePrice, params } = position
  if (!isAccrued) return HALTED
  if (owed === 0n) return undefined
  if (oraclePrice === undefined) return { amount: 0n, limitedBy: 'price' }
  if (oraclePrice === 0n || params.lltv === 0n) return { amount: 0n, limitedBy: 'health' }
  // The least collateral whose worth, rounded down twice as the contract does, still bears the debt.
  const needed = mulDivUp(mulDivUp(owed, WAD, params.lltv), ORACLE_SCALE, oraclePrice)
  return { amount: collateral - minBigint(needed, collateral), limitedBy: 'health' }
}

const HALTED: Withdrawable = { amount: 0n, limitedBy: 'halted' }
