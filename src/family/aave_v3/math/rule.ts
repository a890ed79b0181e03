import type { LiquidationReason } from '../../../finance/lending/due.ts'
import { WAD } from '../../../lib/number/fixed_point.ts'
import { type Account, getLiquidationThreshold } from './account.ts'

/*
 * Everything by which Aave V3 refuses a loan or a withdrawal, or lets any wallet liquidate. No debt has a term. Source:
 * `ValidationLogic.sol`. "Read" says what the figures obey.
 *
 * - validateWithdraw: reserve inactive or paused (read: such a reserve counts 0 in `safeWithdraw`), more than the pool
 *   holds (read). validateHFAndLtv: health factor below 1 (read: the target is above it), collateral without LTV first
 *   (read).
 * - validateBorrow: maximum LTV, isolation mode's debt ceiling (read); reserve inactive, paused, frozen or not for
 *   borrowing, its borrow cap and liquidity, eMode and siloed borrowing: of the asset, and `safeBorrow` names none.
 * - validateLiquidationCall: health factor 1 or above; a pair of reserves of which one is inactive or paused; collateral
 *   without threshold (read). Not read, and so never a reason to say less: the grace period of a reserve after a pause
 *   and the sentinel of a sequencer, which delay a liquidation.
 */

/**
 * Finds why any wallet may liquidate an account: a health factor below 1, with a collateral and a debt whose reserves are
 * neither inactive nor paused. Source: `ValidationLogic.validateLiquidationCall`.
 */
export function findLiquidationReasons(account: Account): readonly LiquidationReason[] {
  const { data, assets } = account
  if (data.totalDebt === 0n || data.healthFactorWad >= WAD) return []
  const open = assets.filter(({ reserve }) => reserve.isOpen)
  const isSeizable = open.some(
    ({ reserve, isCollateral, supplied }) =>
      isCollateral && supplied > 0n && getLiquidationThreshold(reserve, account) > 0n,
  )
  const isRepayable = open.some(({ variableDebt, stableDebt }) => variableDebt + stableDebt > 0n)
  return isSeizable && isRepayable ? ['health_factor'] : []
}
