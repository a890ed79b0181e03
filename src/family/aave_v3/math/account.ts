import {
  type BoundlessRatio,
  type LendingTotals,
  safeBorrowUsd,
  type YieldLeg,
  type YieldLegs,
} from '../../../finance/math/lending.ts'
import { APR_RAY_MAX, apyFromApr } from '../../../finance/math/rate.ts'
import { minBigint, mulDivDown, mulDivUp, pow10, WAD } from '../../../lib/number/fixed_point.ts'
import { compareRational, type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import type { AccountData, Features, RawCategory, RawHolding, ReserveLimits } from './state.ts'

const BPS = 10_000n
/** Debt ceilings and debts of isolation mode are in hundredths of a US dollar. */
const ISOLATION_UNITS_PER_USD = 100n

/** A reserve's state that decides what can be taken out of it. */
export interface PayingReserve extends ReserveLimits {
  readonly id: number
  /** Amount the pool can pay out, token units. */
  readonly withdrawable: bigint
}

/** A reserve's state that figures depend on. */
export interface Reserve extends PayingReserve {
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

/** A wallet's account in one market. */
export interface Account<R extends PayingReserve = Reserve> {
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
 * @proof test/finance/math/rate_test.ts, test/family/aave_v3/read_test.ts
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
 * @proof test/family/aave_v3/math_test.ts, test/family/aave_v3/read_test.ts
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
 * @proof test/family/aave_v3/math_test.ts, test/family/aave_v3/read_test.ts
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
 * @proof test/family/aave_v3/math_test.ts, test/family/aave_v3/read_test.ts, test/family/aave_v3/snapshots_test.ts
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
 * US dollars that can still be borrowed before the health factor falls to `target`, the account's maximum LTV is
 * reached or, in isolation mode, the collateral's debt ceiling. It ignores what the pool of one asset can lend and that
 * asset's borrow cap, because no asset is named.
 *
 * @figure safeBorrowAmountUSD
 * @source Aave V3 `ValidationLogic.validateBorrow`
 * @proof test/family/aave_v3/math_test.ts, test/family/aave_v3/executed_test.ts
 */
export function safeBorrow(account: Account, target: Rational): Rational {
  const safe = safeBorrowUsd(computeTotals(account), target)
  const ceiling = isolationRoom(account)
  return ceiling !== undefined && compareRational(ceiling, safe) < 0 ? ceiling : safe
}

/**
 * US dollars of collateral that can be taken out before the health factor falls to `target`. Collateral without LTV
 * goes first, because the pool lets nothing else go before it. The rest goes in proportion. An asset counts up to what
 * its pool can pay; a paused one counts 0. Without debt the result is all that the pools can pay.
 *
 * @figure safeWithdrawAmountUSD
 * @source Aave V3 `ValidationLogic.validateHFAndLtv`
 * @proof test/family/aave_v3/math_test.ts, test/family/aave_v3/executed_test.ts
 */
export function safeWithdraw(account: Account, target: Rational): Rational {
  const { data, unit } = account
  const collaterals = listCollaterals(account)
  const perUsd = unit * WAD
  if (data.totalDebt === 0n) {
    return rational(
      collaterals.reduce((sum, { payable }) => sum + payable * WAD, 0n),
      perUsd,
    )
  }
  const limit = liquidationLimit(account)
  const computeWeight = (group: readonly Collateral[]): bigint =>
    group.reduce((sum, { value, thresholdBps }) => sum + value * thresholdBps, 0n)
  const whole = computeWeight(collaterals)
  if (limit === 0n || whole === 0n) return ZERO
  // In units of limit × target's denominator.
  let room = limit * target.denominator - target.numerator * data.totalDebt * WAD
  let taken = 0n
  for (const hasLtv of [false, true]) {
    const group = collaterals.filter((each) => each.hasLtv === hasLtv)
    if (room <= 0n) break
    const groupLimit = (limit * target.denominator * computeWeight(group)) / whole
    const isAll = room >= groupLimit
    const computePart = ({ value, payable }: Collateral): bigint => {
      const proportional = isAll ? value * WAD : (value * WAD * room) / groupLimit
      return minBigint(proportional, payable * WAD)
    }
    taken += group.reduce((sum, each) => sum + computePart(each), 0n)
    if (!isAll || group.some(({ value, payable }) => payable < value)) break
    room -= groupLimit
  }
  return rational(taken, perUsd)
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
  const sum = listCollaterals(account).reduce((all, { value, thresholdBps }) => all + value * thresholdBps, 0n)
  const isExact = features.zeroLtvEModes && sum / totalCollateral === liquidationThresholdBps
  return ((isExact ? sum : totalCollateral * liquidationThresholdBps) * WAD) / BPS
}

interface Collateral {
  /** Market units. */
  readonly value: bigint
  /** The part of `value` that the pool can pay out now. */
  readonly payable: bigint
  readonly thresholdBps: bigint
  readonly hasLtv: boolean
}

function listCollaterals(account: Account): Collateral[] {
  return account.assets
    .filter(({ isCollateral, supplied }) => isCollateral && supplied > 0n)
    .map((asset) => {
      const { reserve, supplied, price } = asset
      const payable = minBigint(supplied, reserve.withdrawable)
      return {
        value: computeSuppliedValue(asset),
        payable: reserve.isOpen ? mulDivDown(payable, price, pow10(reserve.decimals)) : 0n,
        thresholdBps: getLiquidationThreshold(reserve, account),
        hasLtv: hasLtv(reserve, account),
      }
    })
    .filter(({ thresholdBps }) => thresholdBps > 0n || account.features.zeroLtvEModes)
}

/**
 * The part of an asset's value that counts as collateral before a liquidation, hundredths of a percent: by its eMode if
 * the asset counts there.
 *
 * @figure aave-v3/liquidationThreshold
 * @source Aave V3 `GenericLogic.calculateUserAccountData`
 * @proof test/family/aave_v3/parts_test.ts
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

/** Remaining debt ceiling in isolation mode, US dollars; undefined outside it. Source: `IsolationModeLogic`. */
function isolationRoom({ assets, features }: Account): Rational | undefined {
  const collaterals = assets.filter(({ isCollateral }) => isCollateral)
  const [only] = collaterals
  if (features.isolatedEModes || only === undefined || collaterals.length > 1) return undefined
  const { debtCeiling, isolationDebt } = only.reserve
  if (debtCeiling === 0n) return undefined
  return debtCeiling <= isolationDebt ? ZERO : rational(debtCeiling - isolationDebt, ISOLATION_UNITS_PER_USD)
}

/** What is supplied of an asset, market units, rounded down as `GenericLogic` does. */
export function computeSuppliedValue({ supplied, price, reserve }: Asset<PayingReserve>): bigint {
  return mulDivDown(supplied, price, pow10(reserve.decimals))
}

function hasBit(bitmap: bigint, index: number): boolean {
  return ((bitmap >> BigInt(index)) & 1n) === 1n
}
