import type { BoundlessRatio, LendingTotals, YieldLeg, YieldLegs } from '../../../finance/math/lending.ts'
import { APR_RAY_MAX, apyFromApr } from '../../../finance/math/rate.ts'
import { mulDivDown, mulDivUp, pow10, WAD } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import type { AccountData, Features, Lender, RawCategory, RawHolding, ReserveLimits, Sentinel } from './state.ts'

const BPS = 10_000n

/** A reserve's state that decides what can be taken out of it. */
export interface PayingReserve extends ReserveLimits {
  readonly id: number
  /** Amount the pool can pay out, token units. */
  readonly withdrawable: bigint
}

/** A reserve's state that figures depend on. */
export interface Reserve extends PayingReserve {
  /** Amount that the borrow cap of a siloed reserve leaves to lend, token units; 2^128 − 1 without a cap. */
  readonly underBorrowCap: bigint
  /** Until then, and at it, nothing that it backs or lent is liquidated; Unix seconds, 0 if never. */
  readonly graceUntilSec: bigint
  readonly supplyApyRay: bigint
  readonly borrowApyRay: bigint
  readonly isolationDebt: bigint
}

/** A wallet's holding of one reserve, with the reserve's price for this wallet. */
export interface Asset<R extends PayingReserve = Reserve> extends Omit<RawHolding, 'reserve'> {
  readonly reserve: R
  /** Market units for a whole token. */
  readonly price: bigint
}

/** What a market allows at the block, whatever a wallet holds in it. */
export interface MarketTerms {
  /** Time of the block, Unix seconds. */
  readonly timestampSec: bigint
  readonly sentinel: Sentinel
  readonly lenders: readonly Lender[]
}

/** A wallet's account in one market. */
export interface Account<R extends PayingReserve = Reserve> {
  readonly terms: MarketTerms
  /** Market units of one US dollar. */
  readonly unit: bigint
  readonly features: Features
  readonly data: AccountData
  /** Undefined outside eMode. */
  readonly category: RawCategory | undefined
  readonly assets: readonly Asset<R>[]
}

/** One asset on one side of an account, in the market's units. */
export interface Leg<R extends Reserve = Reserve> extends YieldLeg {
  readonly asset: Asset<R>
  /** Token units. */
  readonly amount: bigint
}

/**
 * Yearly yield of a reserve's rate, both in ray. A rate above `APR_RAY_MAX` counts as `APR_RAY_MAX`.
 *
 * @figure supplyAPY, borrowAPY
 * @source Aave `calculateCompoundedRate`: (1 + rate ÷ seconds of a year)^seconds of a year − 1
 * @proof test/unit/finance/math/rate_test.ts, test/contract/family/aave_v3/read_test.ts
 */
export function computeApy(rateRay: bigint): bigint {
  return apyFromApr(rateRay > APR_RAY_MAX ? APR_RAY_MAX : rateRay)
}

/** The price of a reserve for an account: before 3.2 an eMode could replace the prices of its assets by one. */
export function getAccountPrice(
  reserve: Pick<Reserve, 'id' | 'legacyCategory'>,
  account: Pick<Account, 'category' | 'features'>,
  own: bigint,
): bigint {
  const shared = isInCategory(reserve, account) ? (account.category?.price ?? 0n) : 0n
  return shared > 0n ? shared : own
}

/** True if the reserve counts with its eMode's limits instead of its own. */
export function isInCategory(
  { id, legacyCategory }: Pick<Reserve, 'id' | 'legacyCategory'>,
  { category, features }: Pick<Account, 'category' | 'features'>,
): boolean {
  if (category === undefined) return false
  return features.liquidEModes ? hasBit(category.collateralBitmap, id) : legacyCategory === category.id
}

/**
 * What is supplied, in market units, rounded down as `GenericLogic` does.
 *
 * @figure amountSuppliedUSD
 * @source Aave V3 `GenericLogic._getUserBalanceInBaseCurrency`
 * @proof test/unit/family/aave_v3/math_test.ts, test/contract/family/aave_v3/read_test.ts
 */
export function computeSupplies<R extends Reserve>({ assets }: Account<R>): Leg<R>[] {
  return assets
    .filter(({ supplied }) => supplied > 0n)
    .map((asset) => ({
      asset,
      amount: asset.supplied,
      value: computeSuppliedValue(asset),
      apyRay: asset.reserve.supplyApyRay,
    }))
}

/**
 * What is owed, in market units, rounded up as `GenericLogic` does since 3.5; stable debt at the wallet's own rate.
 *
 * @figure amountBorrowedUSD
 * @source Aave V3 `GenericLogic._getUserDebtInBaseCurrency`
 * @proof test/unit/family/aave_v3/math_test.ts, test/contract/family/aave_v3/read_test.ts
 */
export function computeBorrows<R extends Reserve>({ assets }: Account<R>): Leg<R>[] {
  return assets.flatMap((asset) => {
    const { reserve, variableDebt, stableDebt, stableRateRay, price } = asset
    const toLegs = (amount: bigint, apyRay: bigint) => {
      const value = mulDivUp(amount, price, pow10(reserve.decimals))
      return amount === 0n ? [] : [{ asset, amount, value, apyRay }]
    }
    const variable = toLegs(variableDebt, reserve.borrowApyRay)
    return stableDebt === 0n ? variable : [...variable, ...toLegs(stableDebt, computeApy(stableRateRay))]
  })
}

/**
 * Totals of an account, in 10^-18 of a market unit: Σ balance × price of Aave's oracle. Collateral, debt and limits are
 * the pool's own figures, so that their ratios are the pool's too. Only what is supplied is summed here: net worth is it,
 * collateral or not, less the debt.
 *
 * @figure totalCollateralUSD, totalDebtUSD, netWorthUSD, collateral_usd, debt_usd, net_worth_usd
 * @source Aave V3 `Pool.getUserAccountData`
 * @proof test/unit/family/aave_v3/math_test.ts, test/contract/family/aave_v3/read_test.ts, test/contract/family/aave_v3/snapshots_test.ts
 */
export function computeTotals(account: Account): LendingTotals {
  const { unit, data } = account
  const { totalCollateral, totalDebt, availableBorrows, ltvBps } = data
  const supplied = computeSupplies(account).reduce((sum, { value }) => sum + value, 0n)
  // If something can be borrowed, the limit is known to the unit. If not, the debt has reached it.
  const borrowLimit =
    availableBorrows > 0n ? (totalDebt + availableBorrows) * WAD : (totalCollateral * ltvBps * WAD) / BPS
  return {
    perUsd: unit * WAD,
    supplied: supplied * WAD,
    collateral: totalCollateral * WAD,
    debt: totalDebt * WAD,
    riskDebt: totalDebt * WAD,
    liquidationLimit: liquidationLimit(account),
    borrowLimit,
  }
}

/** The pool's own health factor. */
export function getHealthFactor({ data: { totalDebt, healthFactorWad } }: Pick<Account, 'data'>): BoundlessRatio {
  return totalDebt === 0n ? 'max' : rational(healthFactorWad, WAD)
}

/** Legs in the unit of `computeTotals`. */
export function yieldLegs(account: Account): YieldLegs {
  const scaleLeg = ({ value, apyRay }: YieldLeg): YieldLeg => ({ value: value * WAD, apyRay })
  return { supplies: computeSupplies(account).map(scaleLeg), borrows: computeBorrows(account).map(scaleLeg) }
}

/**
 * Σ collateral × liquidation threshold, in 10^-18 of a market unit. With debt it follows from the pool's health factor.
 * Without debt it is summed here, if the sum gives the pool's average. If not, the average itself is used, as in
 * versions before 3.6: it is truncated, so it never overstates the limit.
 */
function liquidationLimit(account: Account): bigint {
  const { data, features } = account
  const { totalCollateral, totalDebt, healthFactorWad, liquidationThresholdBps } = data
  if (totalDebt > 0n) return healthFactorWad * totalDebt
  if (totalCollateral === 0n) return 0n
  const sum = account.assets
    .filter(({ isCollateral }) => isCollateral)
    .reduce((all, asset) => all + computeSuppliedValue(asset) * getLiquidationThreshold(asset.reserve, account), 0n)
  const isExact = features.zeroLtvEModes && sum / totalCollateral === liquidationThresholdBps
  return ((isExact ? sum : totalCollateral * liquidationThresholdBps) * WAD) / BPS
}

/**
 * The part of an asset's value that counts as collateral before a liquidation, hundredths of a percent: by its eMode if
 * the asset counts there.
 *
 * @figure aave-v3/liquidationThreshold
 * @source Aave V3 `GenericLogic.calculateUserAccountData`
 * @proof test/contract/family/aave_v3/parts_test.ts
 */
export function getLiquidationThreshold(
  reserve: PayingReserve,
  account: Pick<Account, 'category' | 'features'>,
): bigint {
  const own = reserve.liquidationThresholdBps
  // Before 3.6 an asset without a threshold of its own cannot be collateral, even if its eMode gives it one.
  if (own === 0n && !account.features.zeroLtvEModes) return 0n
  return isInCategory(reserve, account) ? (account.category?.liquidationThresholdBps ?? own) : own
}

/** Source: `ValidationLogic.getUserReserveLtv`; before 3.6 the reserve's own LTV decides. */
export function hasLtv(reserve: PayingReserve, account: Pick<Account, 'category' | 'features'>): boolean {
  const { category, features } = account
  if (category === undefined || !features.zeroLtvEModes) return reserve.ltvBps > 0n
  if (isInCategory(reserve, account)) return !hasBit(category.zeroLtvBitmap, reserve.id) && category.ltvBps > 0n
  return !category.isolated && reserve.ltvBps > 0n
}

/** What is supplied of an asset, market units, rounded down as `GenericLogic` does. */
export function computeSuppliedValue({ supplied, price, reserve }: Asset<PayingReserve>): bigint {
  return mulDivDown(supplied, price, pow10(reserve.decimals))
}

/** True if a bit of a bitmap is set. */
export function hasBit(bitmap: bigint, index: number): boolean {
  return ((bitmap >> BigInt(index)) & 1n) === 1n
}
