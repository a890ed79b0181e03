import { type Account, computeBorrows, computeSupplies } from '../../math/account.ts'

const BPS = 10_000n
const WAD = 10n ** 18n
/** Rounding of one asset: each version of the contracts rounds its value its own way. */
const UNITS_PER_ASSET = 2n
/** Rounding of amounts and of totals in the contracts, relative: far less than any lie that is worth telling. */
const TOLERANCE = 1_000_000n

/**
 * What the pool's own totals of an account contradict, in words; undefined if nothing. What counts as collateral is part
 * of what is supplied, what tokens say is owed is part of the debt, and the health factor follows from the totals and the
 * threshold, which the pool cuts to hundredths of a percent. Source: Aave V3 `GenericLogic.calculateUserAccountData`.
 */
export function findAccountContradiction(account: Account): string | undefined {
  const { totalCollateral, totalDebt, healthFactorWad, liquidationThresholdBps } = account.data
  const room = UNITS_PER_ASSET * BigInt(account.assets.length)
  const supplied = sum(computeSupplies(account))
  const owed = sum(computeBorrows(account))
  if (totalCollateral > supplied + supplied / TOLERANCE + room) return 'its collateral is more than it supplies'
  if (owed > totalDebt + totalDebt / TOLERANCE + room) return 'its debts are more than their total'
  if (totalDebt === 0n) return undefined
  const factorAt = (thresholdBps: bigint) => (totalCollateral * thresholdBps * WAD) / (BPS * totalDebt)
  // One unit of collateral more or less, for the rounding.
  const slack = (2n * WAD) / totalDebt + 1n
  const isBelow = healthFactorWad < factorAt(liquidationThresholdBps) - slack
  if (isBelow || healthFactorWad > factorAt(liquidationThresholdBps + 1n) + slack) {
    return 'its health factor does not follow from its collateral and debt'
  }
  return undefined
}

function sum(legs: readonly { readonly value: bigint }[]): bigint {
  return legs.reduce((total, { value }) => total + value, 0n)
}
