import type { CurvePoint, Reserve } from './layout.ts'

/** 1 as Kamino's fixed point writes it: 60 fractional bits. */
export const SF = 1n << 60n
/** Slots of the year that the program reckons rates over: two a second. */
export const SLOTS_PER_YEAR = 63_072_000n

const BPS = 10_000n

/** A reserve's pool at one slot, interest included. Sf: base units of the token with 60 fractional bits. */
export interface Pool {
  /** Available + borrowed − fees: what belongs to suppliers. */
  readonly supplySf: bigint
  readonly borrowedSf: bigint
  readonly cumulativeRateSf: bigint
  /** Fees that belong to the protocol and to the market's host. */
  readonly protocolFeesSf: bigint
  readonly pendingReferrerFeesSf: bigint
  readonly collateralSupply: bigint
}

/**
 * A reserve's pool after the interest up to `slot`, rounded where the program rounds. The slot's real duration plays
 * no part. Source: klend `state/reserve.rs`, `accrue_interest` and `compound_interest`.
 */
export function accrue(reserve: Reserve, at: { readonly slot: bigint; readonly referralFeeBps: bigint }): Pool {
  const elapsed = at.slot > reserve.lastUpdateSlot ? at.slot - reserve.lastUpdateSlot : 0n
  const { borrowedSf: before } = reserve
  const hostRateSf = fromBps(reserve.hostFixedRateBps)
  const factorSf = compounded(borrowRate(reserve.curve, utilization(before, supply(reserve))) + hostRateSf, elapsed)
  const borrowedSf = multiply(before, factorSf)
  const hostFeeSf = multiply(before, compounded(hostRateSf, elapsed)) - before
  const interestSf = borrowedSf - before - hostFeeSf
  const takeRateSf = (reserve.protocolTakeRatePct * SF) / 100n
  const referralSf = elapsed === 0n ? 0n : multiply(interestSf, multiply(takeRateSf, fromBps(at.referralFeeBps)))
  const protocolFeesSf = reserve.protocolFeesSf + hostFeeSf + multiply(interestSf, takeRateSf) - referralSf
  const pendingReferrerFeesSf = reserve.pendingReferrerFeesSf + referralSf
  return {
    supplySf: supply({ ...reserve, borrowedSf, protocolFeesSf, pendingReferrerFeesSf }),
    borrowedSf,
    cumulativeRateSf: multiply(reserve.cumulativeRateSf, factorSf),
    protocolFeesSf,
    pendingReferrerFeesSf,
    collateralSupply: reserve.collateralSupply,
  }
}

/** Available + borrowed − fees, Sf: what belongs to suppliers. Negative only in a broken account. */
export function supply(
  reserve: Pick<
    Reserve,
    'availableAmount' | 'borrowedSf' | 'protocolFeesSf' | 'referrerFeesSf' | 'pendingReferrerFeesSf'
  >,
): bigint {
  const { availableAmount, borrowedSf, protocolFeesSf, referrerFeesSf, pendingReferrerFeesSf } = reserve
  return availableAmount * SF + borrowedSf - protocolFeesSf - referrerFeesSf - pendingReferrerFeesSf
}

/** Borrowed ÷ supplied, Sf; 0 for an empty pool. Above 1 where fees have eaten into the supply. */
export function utilization(borrowedSf: bigint, supplySf: bigint): bigint {
  return supplySf <= 0n ? 0n : (borrowedSf * SF) / supplySf
}

/**
 * Yearly borrow rate at a utilization, both Sf: on a corner of the curve the corner's own, else in between by the
 * utilization before rounding. Source: klend `utils/borrow_rate_curve.rs`. Throws `RangeError` for a curve that does
 * not cover it.
 */
export function borrowRate(curve: readonly CurvePoint[], utilizationSf: bigint): bigint {
  const usedSf = utilizationSf > SF ? SF : utilizationSf
  const usedBps = (usedSf * BPS + SF / 2n) / SF
  const index = curve.findIndex(
    (start, at) => usedBps >= start.utilizationBps && usedBps <= (curve[at + 1]?.utilizationBps ?? -1n),
  )
  const [start, end] = [curve[index], curve[index + 1]]
  if (start === undefined || end === undefined) {
    throw new RangeError(`Cannot read a borrow-rate curve at ${usedBps} bps: no segment covers it`)
  }
  if (usedBps === start.utilizationBps) return fromBps(start.rateBps)
  if (usedBps === end.utilizationBps) return fromBps(end.rateBps)
  const over = usedSf - fromBps(start.utilizationBps)
  return (over * (end.rateBps - start.rateBps)) / (end.utilizationBps - start.utilizationBps) + fromBps(start.rateBps)
}

/** Liquidity behind collateral tokens, Sf: one for one where either side is empty. */
export function liquidityOf(collateralAmount: bigint, { supplySf, collateralSupply }: Pool): bigint {
  if (supplySf <= 0n || collateralSupply === 0n) return collateralAmount * SF
  return (collateralAmount * supplySf) / collateralSupply
}

/** What a debt has grown to, Sf; unchanged where the reserve's rate is not above the one it was refreshed at. */
export function owed(
  { amountSf, cumulativeRateSf }: { readonly amountSf: bigint; readonly cumulativeRateSf: bigint },
  pool: Pool,
): bigint {
  return pool.cumulativeRateSf > cumulativeRateSf ? (amountSf * pool.cumulativeRateSf) / cumulativeRateSf : amountSf
}

/** A fraction of ten-thousandths as Sf, rounded down. */
export function fromBps(bps: bigint): bigint {
  return (bps * SF) / BPS
}

/**
 * Growth over a number of slots at a yearly rate, Sf: exact powers up to four slots, then the first four terms of the
 * binomial series. Source: klend `approximate_compounded_interest`.
 */
export function compounded(rateSf: bigint, slots: bigint): bigint {
  const base = rateSf / SLOTS_PER_YEAR
  const one = SF + base
  if (slots === 0n) return SF
  if (slots === 1n) return one
  if (slots === 2n) return multiply(one, one)
  if (slots === 3n) return multiply(multiply(one, one), one)
  if (slots === 4n) return multiply(multiply(one, one), multiply(one, one))
  const second = multiply(base, base)
  const third = multiply(second, base)
  return SF + base * slots + (second * slots * (slots - 1n)) / 2n + (third * slots * (slots - 1n) * (slots - 2n)) / 6n
}

function multiply(a: bigint, b: bigint): bigint {
  return (a * b) >> 60n
}
