import type { BoundlessRatio, LendingPosition } from '../../../finance/math/lending.ts'
import { APR_RAY_MAX, apyFromApr, RAY } from '../../../finance/math/rate.ts'
import { minBigint, mulDivDown, mulDivUp, pow10, UINT256_MAX, WAD } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import type { LiquidationReason } from '../../lending/due.ts'
import type { AccountData, HubAsset, LiquidationTerms, RawHolding, RawReserve, SpokeTerms } from './state.ts'

const BPS = 10_000n
/** Values are in 10^-26 US dollars: a whole token has 18 digits, its price 8. */
const VALUE_DIGITS = 18
/** In these units one US dollar, a value in ray. */
export const PER_USD = pow10(26) * RAY
/** Collateral × factor in hundredths of a percent, as a value in ray. */
const LIMIT_SCALE = RAY / BPS
/** Shares and assets that a hub adds to every asset, so that the first shares have a price. */
const VIRTUAL = 1_000_000n
/** A premium threshold without a limit. */
const NO_THRESHOLD = (1n << 24n) - 1n
/** Revision of the contracts that these formulas follow; contracts that tell none have 0. */
const REVISION = 1

/** What a wallet has in one reserve, or has switched on there. */
export interface Asset extends RawHolding {
  readonly reserve: RawReserve & { readonly asset: HubAsset }
}

/** A wallet's account in a spoke. */
export interface Account {
  readonly terms: SpokeTerms
  /**
   * Premium by which its debts grow, hundredths of a percent of the base rate.
   *
   * @figure aave-v4/riskPremium
   * @source Aave V4 `Spoke.getUserLastRiskPremium`
   * @proof test/contract/family/aave_v4/vectors_test.ts
   */
  readonly riskPremiumBps: bigint
  /** Undefined if the spoke cannot value the account. */
  readonly data: AccountData | undefined
  readonly assets: readonly Asset[]
}

/** An account that its spoke values. */
export type ValuedAccount = Account & { readonly data: AccountData }

/** Whether collateral counts by the wallet's own keys, as its health factor does, or by the latest, as all acts do. */
type Keys = 'own' | 'latest'

/** A supply that backs an account's debts. */
interface Collateral {
  readonly value: bigint
  readonly riskBps: bigint
  readonly factorBps: bigint
}

/** True if the formulas follow the contracts as they are. */
export function isKnownRevision({ terms, assets }: Account): boolean {
  return [terms.revision, ...assets.map(({ reserve }) => reserve.asset.revision)].every((it) => it === REVISION)
}

/**
 * Value of an amount of a reserve's token, 10^-26 US dollars; 0 without a price.
 *
 * @figure aave-v4/amountSuppliedUSD
 * @source Aave V4 `SpokeUtils.toValue`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function toValue(amount: bigint, { price = 0n, decimals }: Pick<RawReserve, 'price' | 'decimals'>): bigint {
  return (amount * price * pow10(VALUE_DIGITS)) / pow10(decimals)
}

/** What is owed of an asset, token units in ray, unrounded. */
function computeDebtRay({ drawnShares, premiumShares, premiumOffsetRay, reserve }: Asset): bigint {
  return (drawnShares + premiumShares) * reserve.asset.drawnIndexRay - premiumOffsetRay
}

/**
 * Value of what is owed of an asset, 10^-26 US dollars in ray, unrounded.
 *
 * @figure aave-v4/amountBorrowedUSD
 * @source Aave V4 `Spoke._processUserAccountData`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function computeDebtValueRay(asset: Asset): bigint {
  return toValue(computeDebtRay(asset), asset.reserve)
}

/** True if a wallet owes anything of an asset. */
export function isOwed({ drawn, premium }: Asset): boolean {
  return drawn + premium > 0n
}

/** Collateral factor of an asset, hundredths of a percent; 0 if the wallet does not use it. */
export function getFactor({ isCollateral, own, reserve }: Asset, keys: Keys): bigint {
  if (!isCollateral) return 0n
  return keys === 'own' ? own.collateralFactorBps : reserve.latest.collateralFactorBps
}

/** True if a collateral of the account counts by another key than the latest. */
export function isOutdated({ assets }: Account): boolean {
  return assets.some(({ isCollateral, key, reserve }) => isCollateral && key !== reserve.latestKey)
}

/** True if the prices of everything that the wallet has switched on are known: without one its spoke refuses all acts. */
export function isPriced({ assets }: Account): boolean {
  return assets.every(({ isCollateral, isBorrowing, reserve }) => {
    return (!isCollateral && !isBorrowing) || (reserve.price ?? 0n) > 0n
  })
}

/** Supplies that back the debts; `supplied` tells another amount than what is there of an asset. */
export function listCollaterals(
  { assets }: Account,
  keys: Keys,
  supplied: (asset: Asset) => bigint = (asset) => asset.supplied,
): Collateral[] {
  return assets.flatMap((asset) => {
    const factorBps = getFactor(asset, keys)
    const value = factorBps === 0n ? 0n : toValue(supplied(asset), asset.reserve)
    return value === 0n ? [] : [{ value, riskBps: asset.reserve.collateralRiskBps, factorBps }]
  })
}

/** Value of all debts, in ray. */
export function sumDebts({ assets }: Account): bigint {
  return assets.reduce((sum, asset) => sum + (isOwed(asset) ? computeDebtValueRay(asset) : 0n), 0n)
}

/** Σ collateral × factor, a value in ray: debts beyond it can be liquidated. */
export function sumLimit(collaterals: readonly Collateral[]): bigint {
  return collaterals.reduce((sum, { value, factorBps }) => sum + value * factorBps, 0n) * LIMIT_SCALE
}

/** Health factor of these collaterals and debts, 18 decimals. Source: Aave V4 `Spoke._processUserAccountData`. */
export function computeHealthFactor(collaterals: readonly Collateral[], debtValueRay: bigint): bigint {
  return debtValueRay === 0n ? UINT256_MAX : mulDivDown(sumLimit(collaterals), WAD, debtValueRay)
}

/**
 * Premium of these collaterals and debts, hundredths of a percent: the average risk of the collaterals that cover the
 * debts, the least risky and largest first. Source: Aave V4 `Spoke._processUserAccountData`.
 */
export function computeRiskPremium(collaterals: readonly Collateral[], debtValueRay: bigint): bigint {
  const isLess = (a: Collateral, b: Collateral) =>
    a.riskBps < b.riskBps || (a.riskBps === b.riskBps && a.value > b.value)
  let left = mulDivUp(debtValueRay, 1n, RAY)
  let [taken, weighted] = [0n, 0n]
  for (const { value, riskBps } of collaterals.toSorted((a, b) => (isLess(a, b) ? -1 : 1))) {
    const part = minBigint(value, left)
    left -= part
    taken += part
    weighted += part * riskBps
  }
  return taken === 0n ? 0n : mulDivUp(weighted, 1n, taken)
}

/** Finds what keeps the hubs from taking another premium for an account's debts: undefined if nothing does. */
export function findPremiumRefusal(
  { assets, riskPremiumBps }: Account,
  nextBps: bigint,
): 'inactive' | 'premium_threshold' | undefined {
  if (riskPremiumBps === 0n && nextBps === 0n) return undefined
  for (const asset of assets.filter(isOwed)) {
    const { spoke } = asset.reserve.asset
    if (!spoke.isActive) return 'inactive'
    const own = mulDivUp(asset.drawnShares, nextBps, BPS)
    const isAbove =
      spoke.premiumShares - asset.premiumShares + own > mulDivUp(spoke.drawnShares, spoke.premiumThresholdBps, BPS)
    if (spoke.premiumThresholdBps !== NO_THRESHOLD && isAbove) return 'premium_threshold'
  }
  return undefined
}

/**
 * Premium after `updateUserRiskPremium`, hundredths of a percent; undefined where that reverts.
 *
 * @figure aave-v4/riskPremiumAfterRefresh
 * @source Aave V4 `Spoke.getUserAccountData`, `Hub.refreshPremium`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function computeNextPremium(account: Account): bigint | undefined {
  const next = account.data?.riskPremiumBps
  return next === undefined || findPremiumRefusal(account, next) !== undefined ? undefined : next
}

/**
 * Health factor after `updateUserDynamicConfig`, which moves all collaterals to their latest keys, 18 decimals; undefined
 * where that reverts.
 *
 * @figure aave-v4/healthFactorAfterRefresh
 * @source Aave V4 `Spoke.updateUserDynamicConfig`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function computeNextHealthFactor(account: Account): bigint | undefined {
  if (!isPriced(account)) return undefined
  const [collaterals, debt] = [listCollaterals(account, 'latest'), sumDebts(account)]
  const health = computeHealthFactor(collaterals, debt)
  if (health < WAD || findPremiumRefusal(account, computeRiskPremium(collaterals, debt)) !== undefined) return undefined
  return health
}

/** What is left of a supply after a withdrawal, token units. Source: Aave V4 `Hub.remove`, `SharesMath`. */
export function computeRemaining({ suppliedShares, reserve }: Asset, withdrawn: bigint): bigint {
  const { addedAssets, addedShares } = reserve.asset
  const burned = mulDivUp(withdrawn, addedShares + VIRTUAL, addedAssets + VIRTUAL)
  if (burned >= suppliedShares) return 0n
  return mulDivDown(suppliedShares - burned, addedAssets - withdrawn + VIRTUAL, addedShares - burned + VIRTUAL)
}

/**
 * Bonus of a liquidator that takes a collateral now, hundredths of a percent above 10,000; undefined if its account is healthy.
 *
 * @figure aave-v4/liquidationBonus
 * @source Aave V4 `LiquidationLogic.calculateLiquidationBonus`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function computeLiquidationBonus(
  { liquidationBonusBps: greatest }: RawHolding['own'],
  { healthFactorWad, terms }: { readonly healthFactorWad: bigint; readonly terms: LiquidationTerms | undefined },
): bigint | undefined {
  if (terms === undefined || healthFactorWad >= WAD) return undefined
  const { greatestBonusAtWad, leastBonusFactorBps } = terms
  if (healthFactorWad <= greatestBonusAtWad) return greatest
  const least = mulDivDown(greatest - BPS, leastBonusFactorBps, BPS) + BPS
  return least + mulDivDown(greatest - least, WAD - healthFactorWad, WAD - greatestBonusAtWad)
}

/** Finds why any wallet may liquidate an account: the health factor, if a collateral can be taken and a debt repaid. */
export function findLiquidationReasons({ data, assets }: ValuedAccount): readonly LiquidationReason[] {
  const isOpen = ({ reserve }: Asset) =>
    !reserve.isPaused && reserve.asset.spoke.isActive && !reserve.asset.spoke.isHalted
  const isTakeable = (asset: Asset) => asset.supplied > 0n && getFactor(asset, 'own') > 0n && isOpen(asset)
  const isLiquidatable =
    data.debtValueRay > 0n &&
    data.healthFactorWad < WAD &&
    assets.some(isTakeable) &&
    assets.some((asset) => isOwed(asset) && isOpen(asset))
  return isLiquidatable ? ['health_factor'] : []
}

/** The spoke's own health factor. */
export function getHealthFactor({ data: { debtValueRay, healthFactorWad } }: ValuedAccount): BoundlessRatio {
  return debtValueRay === 0n ? 'max' : rational(healthFactorWad, WAD)
}

const toApy = (aprRay: bigint): bigint => apyFromApr(minBigint(aprRay, APR_RAY_MAX))

/**
 * What suppliers of a reserve earn in a year, ray: what its hub's debts grow by, premium shares included, less the fee.
 *
 * @figure aave-v4/supplyAPY
 * @source Aave V4 `AssetLogic`: interest accrues to drawn and premium shares alone
 * @proof test/unit/family/aave_v4/rate_test.ts
 */
export function computeSupplyApy({ asset }: Asset['reserve']): bigint {
  const { drawnRateRay, drawnIndexRay, drawnShares, premiumShares, feeBps, addedAssets } = asset
  const growth = drawnRateRay * drawnIndexRay * (drawnShares + premiumShares) * (BPS - feeBps)
  return toApy(growth / (RAY * BPS * (addedAssets + VIRTUAL)))
}

/**
 * What a debt grows by in a year, ray: the drawn rate on its drawn and premium shares, over all that is owed.
 *
 * @figure aave-v4/borrowAPY
 * @source Aave V4 `Premium.calculatePremiumRay`: premium that is owed bears no interest
 * @proof test/unit/family/aave_v4/rate_test.ts
 */
export function computeBorrowApy(asset: Asset): bigint {
  const { drawnRateRay, drawnIndexRay } = asset.reserve.asset
  const debtRay = computeDebtRay(asset)
  return debtRay === 0n
    ? 0n
    : toApy((drawnRateRay * drawnIndexRay * (asset.drawnShares + asset.premiumShares)) / debtRay)
}

/**
 * What every debt of a reserve grows by in a year without a premium, ray.
 *
 * @figure aave-v4/baseBorrowAPY
 * @source Aave V4 `Hub.getAsset().drawnRate`
 * @proof test/unit/family/aave_v4/rate_test.ts
 */
export function computeBaseApy({ asset }: Asset['reserve']): bigint {
  return toApy(asset.drawnRateRay)
}

/**
 * A position in 10^-53 US dollars. Collateral and debt are the spoke's own figures; net worth is everything supplied,
 * collateral or not, less the debt. What can still be borrowed counts by the latest keys.
 *
 * @figure aave-v4/totalCollateralUSD, aave-v4/totalDebtUSD, aave-v4/netWorthUSD
 * @source Aave V4 `Spoke.getUserAccountData`
 * @proof test/contract/family/aave_v4/vectors_test.ts
 */
export function computePosition(account: ValuedAccount): LendingPosition {
  const { data, assets } = account
  const supplies = assets
    .filter(({ supplied }) => supplied > 0n)
    .map((asset) => ({
      value: toValue(asset.supplied, asset.reserve) * RAY,
      apyRay: computeSupplyApy(asset.reserve),
    }))
  const borrows = assets
    .filter(isOwed)
    .map((asset) => ({ value: computeDebtValueRay(asset), apyRay: computeBorrowApy(asset) }))
  return {
    totals: {
      perUsd: PER_USD,
      supplied: supplies.reduce((sum, { value }) => sum + value, 0n),
      collateral: data.collateralValue * RAY,
      debt: data.debtValueRay,
      riskDebt: data.debtValueRay,
      liquidationLimit: sumLimit(listCollaterals(account, 'own')),
      borrowLimit: sumLimit(listCollaterals(account, 'latest')),
    },
    supplies,
    borrows,
  }
}
