import { type Decimal, formatFixed, type Rounding } from './decimal.ts'
import { divHalfAwayFromZero, pow10 } from './fixed_point.ts'

/** An exact number, `numerator / denominator`. */
export interface Rational {
  readonly numerator: bigint
  /** Above zero. */
  readonly denominator: bigint
}

/** Creates `numerator / denominator`, not reduced. Throws `RangeError` unless the denominator is above zero. */
export function rational(numerator: bigint, denominator: bigint): Rational {
  if (denominator <= 0n) throw new RangeError(`Cannot make a rational: expected a denominator above zero`)
  return { numerator, denominator }
}

/** Converts `units / 10^scale`, exactly. */
export function toRational({ units, scale }: Decimal): Rational {
  return rational(units, pow10(scale))
}

export const ZERO: Rational = { numerator: 0n, denominator: 1n }
export const ONE: Rational = { numerator: 1n, denominator: 1n }

/** Negative if a < b, 0 if they are equal, positive if a > b; exact. */
export function compareRational(a: Rational, b: Rational): number {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** a + b, exact. If one denominator divides the other, as with powers of ten, the result has the larger one. */
export function addRational(a: Rational, b: Rational): Rational {
  if (a.numerator === 0n) return b
  if (b.numerator === 0n) return a
  if (a.denominator === b.denominator) return sum(a.numerator + b.numerator, a.denominator)
  if (a.denominator % b.denominator === 0n) {
    return sum(a.numerator + b.numerator * (a.denominator / b.denominator), a.denominator)
  }
  if (b.denominator % a.denominator === 0n) {
    return sum(a.numerator * (b.denominator / a.denominator) + b.numerator, b.denominator)
  }
  return sum(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)
}

/** a − b, exact. */
export function subtractRational(a: Rational, b: Rational): Rational {
  return addRational(a, { numerator: -b.numerator, denominator: b.denominator })
}

/** a · b, exact. */
export function multiplyRational(a: Rational, b: Rational): Rational {
  if (a.numerator === 0n || b.numerator === 0n) return ZERO
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator }
}

/** A sum of zero gets denominator 1. */
function sum(numerator: bigint, denominator: bigint): Rational {
  return numerator === 0n ? ZERO : { numerator, denominator }
}

/** The least common multiple of two numbers above zero. */
export function leastCommonMultiple(a: bigint, b: bigint): bigint {
  let [divisor, remainder] = [a, b]
  while (remainder > 0n) [divisor, remainder] = [remainder, divisor % remainder]
  return (a / divisor) * b
}

/** Formats a number with exactly `digits` digits after the point, rounded once from the exact value. */
export function formatRational(
  value: Rational,
  options: { readonly digits: number; readonly rounding?: Rounding },
): string {
  const { digits, rounding = 'half_away_from_zero' } = options
  const scaled = value.numerator * pow10(digits)
  const units = rounding === 'toward_zero' ? scaled / value.denominator : divHalfAwayFromZero(scaled, value.denominator)
  return formatFixed(units, { scale: digits, digits })
}

/**
 * Parses a plain decimal exactly: ASCII digits, at most one point with digits on both sides, no sign, no exponent, at
 * most 18 digits on either side. Undefined for everything else.
 */
export function parseRational(text: string): Rational | undefined {
  const [, whole, fraction = ''] = /^(\d{1,18})(?:\.(\d{1,18}))?$/.exec(text) ?? []
  if (whole === undefined) return undefined
  return { numerator: BigInt(whole + fraction), denominator: pow10(fraction.length) }
}
