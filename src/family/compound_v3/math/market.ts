import { APR_RAY_MAX, apyFromApr, RAY, SECONDS_PER_YEAR } from '../../../finance/math/rate.ts'
import { minBigint, mulDivDown, pow10, WAD } from '../../../lib/number/fixed_point.ts'
import type { MarketTerms, MarketTotals, RawAccount, RawReward } from './state.ts'

/** Scale of indices. */
const INDEX_SCALE = pow10(15)
/** Scale of accrued rewards, which no base token has less of. */
export const ACCRUAL_SCALE = pow10(6)
const RAY_PER_WAD = RAY / WAD

/**
 * A market's totals with interest and rewards up to `timestampSec`, as its next act stores them. Throws `RangeError` for a
 * time before the last accrual.
 *
 * @figure compound-v3/amount
 * @source Comet.sol `accruedInterestIndices`, `accrueInternal`
 * @proof test/contract/family/compound_v3/vectors_test.ts
 */
export function accrue(totals: MarketTotals, terms: MarketTerms, timestampSec: bigint): MarketTotals {
  const elapsedSec = timestampSec - totals.lastAccrualSec
  if (elapsedSec < 0n) throw new RangeError('Cannot accrue interest back in time')
  const grow = (index: bigint, rateWad: bigint) => index + mulDivDown(index, rateWad * elapsedSec, WAD)
  const track = (index: bigint, speed: bigint, total: bigint) =>
    total === 0n || total < terms.minForRewards ? index : index + mulDivDown(speed * elapsedSec, terms.baseScale, total)
  return {
    ...totals,
    baseSupplyIndex: grow(totals.baseSupplyIndex, terms.supplyRateWad),
    baseBorrowIndex: grow(totals.baseBorrowIndex, terms.borrowRateWad),
    trackingSupplyIndex: track(totals.trackingSupplyIndex, terms.supplySpeed, totals.totalSupplyBase),
    trackingBorrowIndex: track(totals.trackingBorrowIndex, terms.borrowSpeed, totals.totalBorrowBase),
    lastAccrualSec: timestampSec,
  }
}

/**
 * What a principal is now, base token units: supplied if it is above zero, owed if it is below; both rounded down.
 *
 * @figure compound-v3/amount
 * @source CometCore.sol `presentValue`
 * @proof test/contract/family/compound_v3/vectors_test.ts
 */
export function toPresentValue(
  principal: bigint,
  { baseSupplyIndex, baseBorrowIndex }: Pick<MarketTotals, 'baseSupplyIndex' | 'baseBorrowIndex'>,
): { readonly supplied: bigint; readonly owed: bigint } {
  if (principal >= 0n) return { supplied: mulDivDown(principal, baseSupplyIndex, INDEX_SCALE), owed: 0n }
  return { supplied: 0n, owed: mulDivDown(-principal, baseBorrowIndex, INDEX_SCALE) }
}

/**
 * What claiming an account's rewards pays now, token units; `totals` are accrued.
 *
 * @figure compound-v3/amount
 * @source Comet.sol `updateBasePrincipal`; CometRewards.sol `claimInternal`, `getRewardAccrued`
 * @proof test/contract/family/compound_v3/vectors_test.ts
 */
export function computeReward(
  account: Pick<RawAccount, 'principal' | 'trackingIndex' | 'trackingAccrued'> & { readonly claimed: bigint },
  {
    totals,
    terms,
    reward,
  }: {
    readonly totals: MarketTotals
    readonly terms: MarketTerms
    readonly reward: Pick<RawReward, 'rescaleFactor' | 'isUpscaled' | 'multiplierWad'>
  },
): bigint {
  const { principal, trackingIndex, trackingAccrued, claimed } = account
  const [size, index] =
    principal < 0n ? [-principal, totals.trackingBorrowIndex] : [principal, totals.trackingSupplyIndex]
  const grown = mulDivDown(size, index - trackingIndex, terms.trackingIndexScale) / (terms.baseScale / ACCRUAL_SCALE)
  const accrued = trackingAccrued + grown
  const scaled = reward.isUpscaled ? accrued * reward.rescaleFactor : accrued / reward.rescaleFactor
  const due = mulDivDown(scaled, reward.multiplierWad, WAD)
  return due > claimed ? due - claimed : 0n
}

/**
 * What a rate per second, 18 decimals, comes to in a year if it is compounded at each second, ray.
 *
 * @figure compound-v3/supplyAPY, compound-v3/borrowAPY
 * @source Comet.sol `getSupplyRate`, `getBorrowRate`
 * @proof test/unit/family/compound_v3/math_test.ts
 */
export function toApyRay(rateWad: bigint): bigint {
  return apyFromApr(minBigint(rateWad * SECONDS_PER_YEAR * RAY_PER_WAD, APR_RAY_MAX))
}
