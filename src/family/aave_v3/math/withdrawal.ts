import type { Withdrawable } from '../../../finance/withdrawable.ts'
import { pow10, WAD } from '../../../lib/number/fixed_point.ts'
import {
  type Account,
  type Asset,
  computeSuppliedValue,
  getLiquidationThreshold,
  hasLtv,
  type PayingReserve,
} from './account.ts'
import { isOwed, WITHDRAWAL_LIMITS } from './rule.ts'

const BPS = 10_000n
/**
 * Most token units by which a balance falls further than what was paid out of it: burning rounds scaled units up, and
 * the rest is rounded down.
 */
const BURN_ROUNDING = 3n

type HeldAsset = Asset<PayingReserve>

/** What one rule lets out, token units. */
type Bound = Withdrawable & { readonly amount: bigint }

/** An account that its pool may be unable to value. */
type UnsureAccount = Omit<Account<PayingReserve>, 'data' | 'unit' | 'terms'> & {
  readonly data: Account['data'] | undefined
}

/**
 * Computes what a withdrawal of one supply alone pays, token units; undefined if that is all of it. Exact but for an
 * account that its debt holds: there it is at most the pool's own limit, and less than that by no more than what the
 * pool's unit of value rounds away and `BURN_ROUNDING`.
 *
 * @figure assets/amount
 * @source Aave V3 `ValidationLogic.validateWithdraw`, `validateHFAndLtv`, `GenericLogic.calculateUserAccountData`
 * @proof test/unit/family/aave_v3/withdrawal_test.ts, test/contract/portfolio/withdrawable_test.ts
 */
export function computeWithdrawable(account: UnsureAccount, asset: HeldAsset): Withdrawable | undefined {
  const bounds = WITHDRAWAL_LIMITS.flatMap(({ room, limitedBy }): Bound[] => {
    const amount = room(asset)
    return amount === undefined ? [] : [{ amount, limitedBy }]
  })
  const least = [...bounds, boundByDebt(account, asset)].reduce((tightest, bound) =>
    bound.amount < tightest.amount ? bound : tightest,
  )
  return least.amount < asset.supplied ? least : undefined
}

function boundByDebt(account: UnsureAccount, asset: HeldAsset): Bound {
  if (!asset.isCollateral || !account.assets.some(isOwed)) return { amount: asset.supplied, limitedBy: 'health' }
  if (account.data === undefined || account.category?.answered === false) return { amount: 0n, limitedBy: 'price' }
  return { amount: computeFree(account, asset), limitedBy: 'health' }
}

/** Computes what the account's debt leaves free of one collateral, token units. */
function computeFree(account: UnsureAccount, asset: HeldAsset): bigint {
  const { supplied, price, reserve } = asset
  // Collateral without LTV goes first, also where nothing of it is left.
  if (
    hasLtv(reserve, account) &&
    account.assets.some((each) => isCollateral(each, account) && !hasLtv(each.reserve, account))
  )
    return 0n
  const isHealthyWith = createHealthCheck(account, asset)
  const value = computeSuppliedValue(asset)
  if (!isHealthyWith(value)) return 0n
  if (isHealthyWith(0n)) return supplied
  let [short, enough] = [0n, value]
  while (enough - short > 1n) {
    const middle = (short + enough) / 2n
    if (isHealthyWith(middle)) enough = middle
    else short = middle
  }
  const unit = pow10(reserve.decimals)
  const kept = (enough * unit + price - 1n) / price + BURN_ROUNDING
  return kept < supplied ? supplied - kept : 0n
}

/**
 * Creates the pool's check of the health factor, by the value that is left of one collateral: since 3.6 of the sum of
 * limits, before that of an average threshold that is rounded down.
 */
function createHealthCheck(account: UnsureAccount, asset: HeldAsset): (value: bigint) => boolean {
  const { assets, features, data } = account
  const others = assets.filter((each) => each !== asset && isCollateral(each, account))
  const sum = (values: readonly bigint[]) => values.reduce((total, each) => total + each, 0n)
  const otherValue = sum(others.map(computeSuppliedValue))
  const otherLimit = sum(
    others.map((each) => computeSuppliedValue(each) * getLiquidationThreshold(each.reserve, account)),
  )
  const threshold = isCollateral(asset, account) ? getLiquidationThreshold(asset.reserve, account) : 0n
  const debt = data?.totalDebt ?? 0n
  return (value) => {
    if (debt === 0n) return true
    const limit = otherLimit + value * threshold
    if (features.zeroLtvEModes) return (limit * WAD + debt / 2n) / debt / BPS >= WAD
    const collateral = otherValue + (threshold > 0n ? value : 0n)
    const average = collateral === 0n ? 0n : limit / collateral
    const rounded = (collateral * average + BPS / 2n) / BPS
    return (rounded * WAD + debt / 2n) / debt >= WAD
  }
}

/** True if an asset counts as collateral, however little there is of it. */
function isCollateral(asset: HeldAsset, account: UnsureAccount): boolean {
  return asset.isCollateral && (account.features.zeroLtvEModes || getLiquidationThreshold(asset.reserve, account) > 0n)
}
