import type { LiquidationReason } from '../../../finance/lending/due.ts'
import type { BoundlessRatio } from '../../../finance/math/lending.ts'
import { compareRational, ONE } from '../../../lib/number/rational.ts'

/*
 * Everything by which Morpho Blue refuses a loan or a withdrawal, or lets any wallet liquidate. Nothing can be paused, and no
 * debt has a term. Source: Morpho.sol.
 *
 * - withdraw: `InsufficientLiquidity`, more than the market has idle.
 * - withdrawCollateral: `InsufficientCollateral`, with debt and a loan-to-value above the market's limit.
 * - borrow: both of the above.
 * - all of them but withdraw: an oracle that reverts or is 0 (with collateral and debt); an interest-rate model that
 *   reverts, which stops all. The list then says the reason instead of figures.
 * - liquidate: `HealthyPosition`, unless the loan-to-value is above the limit.
 */

/**
 * Finds why any wallet may liquidate a position: `_isHealthy` is the only reason. A health factor that is undefined is one
 * that the contract cannot compute either: it then reverts. Source: Morpho.sol `liquidate`.
 */
export function findLiquidationReasons(health: BoundlessRatio | undefined): readonly LiquidationReason[] {
  const isHealthy = health === undefined || health === 'max' || compareRational(health, ONE) >= 0
  return isHealthy ? [] : ['health_factor']
}
