import { SECONDS_PER_YEAR } from '../../../finance/math/rate.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import type { CurvePoint, Market, Reserve } from '../read/accounts/layout.ts'

/** 1 as Kamino's fixed point writes it: 60 fractional bits. */
export const SF = 1n << 60n
/** Slots in the program's year, for reserves that accrue by slots: two a second. */
const SLOTS_PER_YEAR = 63_072_000n

const BPS = 10_000n

/** Moment to accrue a pool to, with the rules of its market. */
export interface AccrualInput extends Pick<Market, 'referralFeeBps' | 'rewardsMaxAprBps'> {
  readonly slot: bigint
  /** By the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
}

/** Pool of a reserve at one slot, interest included. Sf: base units of the token with 60 fractional bits. */
export interface Pool {
  /** Available + borrowed − fees: the part that belongs to suppliers. */
  readonly supplySf: bigint
  readonly borrowedSf: bigint
  readonly cumulativeRateSf: bigint
  /** Fees that belong to the protocol and to the market's host. */
  readonly protocolFeesSf: bigint
  readonly pendingReferrerFeesSf: bigint
  readonly collateralSupply: bigint
  /** Rewards not yet distributed to suppliers, base units. */
  readonly rewardsLeft: bigint
}

/**
 * Computes a reserve's pool as a refresh at the moment would leave it: interest first, then rewards, each rounded as
 * the program rounds it. The real duration of a slot does not matter. Source: klend `state/reserve.rs`,
 * `accrue_interest`, `compound_interest` and `distribute_rewards`.
 */
export function accrue(reserve: Reserve, moment: AccrualInput): Pool {
  const elapsed = { units: elapsedUnits(reserve, moment), unitsPerYear: unitsPerYear(reserve) }
  const { borrowedSf: borrowedBeforeSf } = reserve
  const hostRateSf = bpsToSf(reserve.hostFixedRateBps)
  const factorSf = compound(
    borrowRate(reserve.curve, utilization(borrowedBeforeSf, supply(reserve))) + hostRateSf,
    elapsed,
  )
  const borrowedSf = multiply(borrowedBeforeSf, factorSf)
  const hostFeeSf = multiply(borrowedBeforeSf, compound(hostRateSf, elapsed)) - borrowedBeforeSf
  const interestSf = borrowedSf - borrowedBeforeSf - hostFeeSf
  const takeRateSf = (reserve.protocolTakeRatePct * SF) / 100n
  const referralSf = multiply(interestSf, multiply(takeRateSf, bpsToSf(moment.referralFeeBps)))
  const protocolFeesSf = reserve.protocolFeesSf + hostFeeSf + multiply(interestSf, takeRateSf) - referralSf
  const pendingReferrerFeesSf = reserve.pendingReferrerFeesSf + referralSf
  const supplySf = supply({ ...reserve, borrowedSf, protocolFeesSf, pendingReferrerFeesSf })
  const rewards = distributedRewards(reserve, { ...elapsed, supplySf, maxAprBps: moment.rewardsMaxAprBps })
  return {
    supplySf: supplySf + rewards * SF,
    borrowedSf,
    cumulativeRateSf: multiply(reserve.cumulativeRateSf, factorSf),
    protocolFeesSf,
    pendingReferrerFeesSf,
    collateralSupply: reserve.collateralSupply,
    rewardsLeft: reserve.rewardsAvailable - rewards,
  }
}

/**
 * Time since a reserve was last refreshed, in the unit that it accrues by (slots or seconds); 0 before that moment, and
 * 0 if the account does not hold its seconds yet. Source: klend-sdk `accrualDurationSince`, as in the program.
 */
function elapsedUnits(reserve: Reserve, moment: AccrualInput): bigint {
  const isPerSecond = reserve.accrualUnit === 'second'
  if (isPerSecond && reserve.lastUpdateTimestampSec === 0n) return 0n
  const since = isPerSecond
    ? moment.timestampSec - reserve.lastUpdateTimestampSec
    : moment.slot - reserve.lastUpdateSlot
  return since > 0n ? since : 0n
}

/** Accrual units (slots or seconds) in the year of a reserve's yearly rates. */
export function unitsPerYear({ accrualUnit }: Pick<Reserve, 'accrualUnit'>): bigint {
  return accrualUnit === 'second' ? SECONDS_PER_YEAR : SLOTS_PER_YEAR
}

/** Rewards that a refresh distributes, base units: capped by the market's limit and by the remaining rewards. */
function distributedRewards(
  reserve: Reserve,
  { supplySf, units, unitsPerYear: perYear, maxAprBps }: Elapsed & { supplySf: bigint; maxAprBps: bigint },
): bigint {
  if (reserve.collateralSupply === 0n || supplySf <= 0n) return 0n
  const allowed = ((supplySf / SF) * maxAprBps * units) / (BPS * perYear)
  return minBigint(minBigint(reserve.rewardsPerUnit * units, allowed), reserve.rewardsAvailable)
}

/**
 * Yearly rate that rewards add for suppliers while any are left, Sf: capped by the market's limit. Source: klend-sdk
 * `calculateEffectiveReserveRewardsSupplyAPR`; here the supply includes the rewards distributed so far.
 */
export function rewardRate(reserve: Reserve, pool: Pool, { rewardsMaxAprBps }: { rewardsMaxAprBps: bigint }): bigint {
  if (pool.rewardsLeft === 0n || pool.collateralSupply === 0n || pool.supplySf <= 0n) return 0n
  return minBigint(
    (reserve.rewardsPerUnit * unitsPerYear(reserve) * SF * SF) / pool.supplySf,
    bpsToSf(rewardsMaxAprBps),
  )
}

/** Available + borrowed − fees, Sf: the part that belongs to suppliers. Negative only in a broken account. */
export function supply(
  reserve: Pick<
    Reserve,
    'availableAmount' | 'borrowedSf' | 'protocolFeesSf' | 'referrerFeesSf' | 'pendingReferrerFeesSf'
  >,
): bigint {
  const { availableAmount, borrowedSf, protocolFeesSf, referrerFeesSf, pendingReferrerFeesSf } = reserve
  return availableAmount * SF + borrowedSf - protocolFeesSf - referrerFeesSf - pendingReferrerFeesSf
}

/** Borrowed ÷ supplied, Sf; 0 for an empty pool. Above 1 if fees exceed the available amount. */
export function utilization(borrowedSf: bigint, supplySf: bigint): bigint {
  return supplySf <= 0n ? 0n : (borrowedSf * SF) / supplySf
}

/**
 * Yearly borrow rate at a utilization, both Sf: the rate of a point of the curve, or between two points the rate
 * interpolated from the unrounded utilization. Source: klend `utils/borrow_rate_curve.rs`. Throws `RangeError` if the
 * curve does not cover the utilization.
 */
export function borrowRate(curve: readonly CurvePoint[], utilizationSf: bigint): bigint {
  const usedSf = utilizationSf > SF ? SF : utilizationSf
  const usedBps = (usedSf * BPS + SF / 2n) / SF
  const index = curve.findIndex(
    (start, startIndex) => usedBps >= start.utilizationBps && usedBps <= (curve[startIndex + 1]?.utilizationBps ?? -1n),
  )
  const [start, end] = [curve[index], curve[index + 1]]
  if (start === undefined || end === undefined) {
    throw new RangeError(`Cannot read a borrow-rate curve at ${usedBps} bps: no segment covers it`)
  }
  if (usedBps === start.utilizationBps) return bpsToSf(start.rateBps)
  if (usedBps === end.utilizationBps) return bpsToSf(end.rateBps)
  const excessSf = usedSf - bpsToSf(start.utilizationBps)
  return (
    (excessSf * (end.rateBps - start.rateBps)) / (end.utilizationBps - start.utilizationBps) + bpsToSf(start.rateBps)
  )
}

/** Converts collateral tokens to their liquidity, Sf: one for one if either side is empty. */
export function toLiquidity(collateralAmount: bigint, { supplySf, collateralSupply }: Pool): bigint {
  if (supplySf <= 0n || collateralSupply === 0n) return collateralAmount * SF
  return (collateralAmount * supplySf) / collateralSupply
}

/** Computes a debt with interest, Sf; unchanged if the reserve's cumulative rate is not above the debt's own. */
export function computeOwed(
  { amountSf, cumulativeRateSf }: { readonly amountSf: bigint; readonly cumulativeRateSf: bigint },
  pool: Pool,
): bigint {
  return pool.cumulativeRateSf > cumulativeRateSf ? (amountSf * pool.cumulativeRateSf) / cumulativeRateSf : amountSf
}

/** Converts basis points to Sf, rounded down. */
export function bpsToSf(bps: bigint): bigint {
  return (bps * SF) / BPS
}

/** Number of accrual units (slots or seconds), and how many of them the program's year has. */
interface Elapsed {
  readonly units: bigint
  readonly unitsPerYear: bigint
}

/**
 * Growth factor over a number of accrual units at a yearly rate, Sf: exact powers up to four units, then the first four
 * terms of the binomial series. Source: klend `approximate_compounded_interest`.
 */
export function compound(rateSf: bigint, { units, unitsPerYear: perYear }: Elapsed): bigint {
  const base = rateSf / perYear
  const one = SF + base
  if (units === 0n) return SF
  if (units === 1n) return one
  if (units === 2n) return multiply(one, one)
  if (units === 3n) return multiply(multiply(one, one), one)
  if (units === 4n) return multiply(multiply(one, one), multiply(one, one))
  const second = multiply(base, base)
  const third = multiply(second, base)
  return SF + base * units + (second * units * (units - 1n)) / 2n + (third * units * (units - 1n) * (units - 2n)) / 6n
}

function multiply(a: bigint, b: bigint): bigint {
  return (a * b) >> 60n
}
