import { type Account, computeBorrows, computeSupplies } from '../../math/account.ts'

const BPS = 10_000n
const WAD = 10n ** 18n
/** Rounding of one asset's value, which differs by version of the contracts. */
const UNITS_PER_ASSET = 2n
/** Relative rounding of amounts and totals in the contracts: far below any forgery of consequence. */
const TOLERANCE = 1_000_000n

/**
 * Finds a contradiction between the pool's totals of an account and its holdings, in words; undefined if there is none.
 * Collateral is part of the supplies, the token balances of debt are part of the total debt, and the health factor
 * follows from the totals and the threshold, which the pool truncates to hundredths of a percent. Source: Aave V3
 * `GenericLogic.calculateUserAccountData`.
 */
export function findAccountContradiction(account: Account): string | undefined {
  const { totalCollateral, totalDebt, healthFactorWad, liquidationThresholdBps } = account.data
  const room = UNITS_PER_ASSET * BigInt(account.assets.length)
  const supplied = sum(computeSupplies(account))
  const owed = sum(computeBorrows(account))
  if (totalCollateral > supplied + supplied / TOLERANCE + room) return 'its collateral is more than it supplies'
  if (owed > totalDebt + totalDebt / TOLERANCE + room) return 'its debts are more than their total'
  if (totalDebt === 0n) return undefined
  const computeFactor = (thresholdBps: bigint) => (totalCollateral * thresholdBps * WAD) / (BPS * totalDebt)
  // One unit of collateral more or less, for the rounding.
  const slack = (2n * WAD) / totalDebt + 1n
  const isBelow = healthFactorWad < computeFactor(liquidationThresholdBps) - slack
  if (isBelow || healthFactorWad > computeFactor(liquidationThresholdBps + 1n) + slack) {
    return 'its health factor does not follow from its collateral and debt'
  }
  return undefined
}

function sum(legs: readonly { readonly value: bigint }[]): bigint {
  return legs.reduce((total, { value }) => total + value, 0n)
}
