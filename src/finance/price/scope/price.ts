import { minBigint, pow10, Q60 } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../../lib/number/rational.ts'
import type { PricedReserve, ScopeEntry } from './layout.ts'

/** Most decimals of one Scope entry or of a bound: the program itself stops at more. */
const EXPONENT_MAX = 36n
/** How far the cluster's clock may lag the clock of a feed's publisher, seconds. */
const FUTURE_SEC_MAX = 60n

/** Checks of a cached price, as the bits that the program keeps. */
const PRICE_LOADED = 1
const AGE_CHECKED = 2
const WITHIN_BOUNDS = 16
const USAGE_ALLOWED = 32
/**
 * The checks that a price must have passed. The two checks against the average (4 and 8) are not needed: if they fail,
 * the program lets nobody borrow or withdraw, but still values obligations at this price and liquidates them. Callers
 * want health figures most when prices move fast.
 */
const CHECKS_NEEDED = PRICE_LOADED | AGE_CHECKED | WITHIN_BOUNDS | USAGE_ALLOWED

/** A reserve's price and its source, or why it has no price. Prices are US dollars a whole token, above zero. */
type ReservePrice =
  | { readonly kind: 'live' | 'cached'; readonly price: Rational }
  | { readonly kind: 'none'; readonly problem: string }

/** A price and when it was written. */
interface DatedPrice {
  readonly price: Rational
  /** Unix seconds. */
  readonly timestampSec: bigint
}

/**
 * The price at which the program would value a reserve's token: that of the live feed or, if it is missing or too old,
 * the one kept in the reserve. A price does not count if the program would refuse it: older than the reserve allows by
 * the cluster's clock, outside the reserve's bounds, blocked, or in a reserve in emergency. Source: klend
 * `utils/prices/checks.rs` and `refresh_reserve`.
 */
export function computeReservePrice(
  reserve: PricedReserve,
  { entries, nowSec }: { readonly entries: readonly (ScopeEntry | undefined)[]; readonly nowSec: bigint },
): ReservePrice {
  if (reserve.priceBlocked || reserve.emergencyMode) return none('is blocked by its market')
  const live = scopePrice(entries, nowSec)
  // The program's own two comparisons: a live price may be as old as the limit, a cached one must be younger.
  if (live !== undefined && nowSec - live.timestampSec <= reserve.maxPriceAgeSec) {
    return isWithinBounds(live.price, reserve) ? { kind: 'live', price: live.price } : none('is out of its bounds')
  }
  const cached = cachedPrice(reserve, nowSec)
  if (cached === undefined || nowSec - cached.timestampSec >= reserve.maxPriceAgeSec) {
    return none('is missing or too old')
  }
  return isWithinBounds(cached.price, reserve) ? { kind: 'cached', price: cached.price } : none('is out of its bounds')
}

/**
 * The product of the entries of a price's chain, as old as the oldest of them. Undefined if an entry is missing, zero,
 * in the future or has too many decimals.
 */
export function scopePrice(entries: readonly (ScopeEntry | undefined)[], nowSec: bigint): DatedPrice | undefined {
  let [numerator, denominator, oldestSec]: [bigint, bigint, bigint | undefined] = [1n, 1n, undefined]
  for (const entry of entries) {
    if (entry === undefined || entry.value === 0n || entry.exponent > EXPONENT_MAX) return undefined
    if (entry.timestampSec > nowSec + FUTURE_SEC_MAX) return undefined
    numerator *= entry.value
    denominator *= pow10(Number(entry.exponent))
    oldestSec = oldestSec === undefined ? entry.timestampSec : minBigint(oldestSec, entry.timestampSec)
  }
  return oldestSec === undefined ? undefined : { price: rational(numerator, denominator), timestampSec: oldestSec }
}

/** The price that the program used last, kept in the reserve; undefined if it had none or the price failed a check. */
export function cachedPrice(
  { priceSf, priceStatus, priceTimestampSec }: PricedReserve,
  nowSec: bigint,
): DatedPrice | undefined {
  if (priceSf === 0n || (priceStatus & CHECKS_NEEDED) !== CHECKS_NEEDED) return undefined
  if (priceTimestampSec > nowSec + FUTURE_SEC_MAX) return undefined
  return { price: rational(priceSf, Q60), timestampSec: priceTimestampSec }
}

/** True if a price is within the bounds of the reserve, compared in the program's fixed point. */
function isWithinBounds({ numerator, denominator }: Rational, { priceBounds }: PricedReserve): boolean {
  const { lower, upper, exponent } = priceBounds
  if (lower === 0n && upper === 0n) return true
  if (exponent > EXPONENT_MAX) return false
  const priceSf = (numerator * Q60) / denominator
  const boundSf = (value: bigint) => (value * Q60) / pow10(Number(exponent))
  return (lower === 0n || priceSf >= boundSf(lower)) && (upper === 0n || priceSf <= boundSf(upper))
}

function none(problem: string): ReservePrice {
  return { kind: 'none', problem }
}
