import { minBigint, pow10, Q60 } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../../lib/number/rational.ts'
import type { PricedReserve, ScopeEntry } from './layout.ts'

/** Most decimals of one Scope entry or of a bound: the program itself rejects more. */
const EXPONENT_MAX = 36n
/** How far the cluster's clock may lag the clock of a feed's publisher, seconds. */
const FUTURE_SEC_MAX = 60n

/** Checks of a cached price, as bits stored by the program. */
const PRICE_LOADED = 1
const AGE_CHECKED = 2
const WITHIN_BOUNDS = 16
const USAGE_ALLOWED = 32
/**
 * The checks that a price must have passed. The two checks against the average (4 and 8) are not required: if they
 * fail, the program blocks borrowing and withdrawals, but still values obligations at this price and liquidates them.
 * Callers need health figures most when prices move fast.
 */
const CHECKS_NEEDED = PRICE_LOADED | AGE_CHECKED | WITHIN_BOUNDS | USAGE_ALLOWED

/** The two checks against the average: its distance and its age. */
const AVERAGE_CHECKS = 4 | 8

/** A reserve's price and its source, or why it has none. Prices are US dollars per whole token, above zero. */
type ReservePrice =
  | { readonly kind: 'live' | 'cached'; readonly price: Rational }
  | { readonly kind: 'none'; readonly problem: string }

/** A price and the time of its update. */
interface DatedPrice {
  readonly price: Rational
  /** Unix seconds. */
  readonly timestampSec: bigint
}

/**
 * Computes the price at which the program would value a reserve's token: from the live feed or, if that is missing or
 * too old, the price stored in the reserve. A price does not count if the program would reject it: older than the
 * reserve allows by the cluster's clock, outside the reserve's bounds, blocked, or in a reserve in emergency mode.
 * Source: klend `utils/prices/checks.rs` and `refresh_reserve`.
 */
export function computeReservePrice(
  reserve: PricedReserve,
  { entries, nowSec }: { readonly entries: readonly (ScopeEntry | undefined)[]; readonly nowSec: bigint },
): ReservePrice {
  if (reserve.priceBlocked || reserve.emergencyMode) return noPrice('is blocked by its market')
  const livePrice = computeScopePrice(entries, nowSec)
  // As in the program: a live price may be as old as the limit, a cached one must be younger.
  if (livePrice !== undefined && nowSec - livePrice.timestampSec <= reserve.maxPriceAgeSec) {
    return isWithinBounds(livePrice.price, reserve)
      ? { kind: 'live', price: livePrice.price }
      : noPrice('is out of its bounds')
  }
  const reservePrice = readCachedPrice(reserve, nowSec)
  if (reservePrice === undefined || nowSec - reservePrice.timestampSec >= reserve.maxPriceAgeSec) {
    return noPrice('is missing or too old')
  }
  return isWithinBounds(reservePrice.price, reserve)
    ? { kind: 'cached', price: reservePrice.price }
    : noPrice('is out of its bounds')
}

/**
 * True if a reserve's price also passes the checks against its average, without which the program lends nothing and lets
 * nothing out that backs a debt. Source: klend `utils/prices/checks.rs`, `check_twap_in_tolerance`.
 */
export function isSteadyPrice(
  reserve: PricedReserve,
  { kind, price }: Exclude<ReservePrice, { readonly kind: 'none' }>,
  { entries, nowSec }: { readonly entries: readonly (ScopeEntry | undefined)[]; readonly nowSec: bigint },
): boolean {
  const { toleranceBps, maxAgeSec } = reserve.averageCheck
  if (kind === 'cached') return (reserve.priceStatus & AVERAGE_CHECKS) === AVERAGE_CHECKS
  if (toleranceBps === 0n) return true
  const average = computeScopePrice(entries, nowSec)
  if (average === undefined || nowSec - average.timestampSec > maxAgeSec) return false
  const current = price.numerator * average.price.denominator
  const distance = current - average.price.numerator * price.denominator
  return (distance < 0n ? -distance : distance) * 10_000n < current * toleranceBps
}

/**
 * Computes the product of a chain of entries, as old as the oldest of them. Undefined if an entry is missing, zero, in
 * the future or has too many decimals.
 */
export function computeScopePrice(
  entries: readonly (ScopeEntry | undefined)[],
  nowSec: bigint,
): DatedPrice | undefined {
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

/** Reads the price that the program last stored in the reserve; undefined without one or if it failed a check. */
export function readCachedPrice(
  { priceSf, priceStatus, priceTimestampSec }: PricedReserve,
  nowSec: bigint,
): DatedPrice | undefined {
  if (priceSf === 0n || (priceStatus & CHECKS_NEEDED) !== CHECKS_NEEDED) return undefined
  if (priceTimestampSec > nowSec + FUTURE_SEC_MAX) return undefined
  return { price: rational(priceSf, Q60), timestampSec: priceTimestampSec }
}

/** True if a price is within the reserve's bounds, compared in the program's fixed point. */
function isWithinBounds({ numerator, denominator }: Rational, { priceBounds }: PricedReserve): boolean {
  const { lower, upper, exponent } = priceBounds
  if (lower === 0n && upper === 0n) return true
  if (exponent > EXPONENT_MAX) return false
  const priceSf = (numerator * Q60) / denominator
  const toBoundSf = (value: bigint) => (value * Q60) / pow10(Number(exponent))
  return (lower === 0n || priceSf >= toBoundSf(lower)) && (upper === 0n || priceSf <= toBoundSf(upper))
}

function noPrice(problem: string): ReservePrice {
  return { kind: 'none', problem }
}
