import { divHalfAwayFromZero, pow10 } from './fixed_point.ts'

/** How excess digits are rounded. */
export type Rounding = 'half_away_from_zero' | 'toward_zero'

/** An exact decimal number: `units / 10^scale`. */
export interface Decimal {
  readonly units: bigint
  readonly scale: number
}

/** Formats `units / 10^scale` with all digits, no trailing zeros, no exponent, never `-0`: `1.5`, `0`, `0.000001`. */
export function formatExact(units: bigint, scale: number): string {
  const { sign, whole, fraction } = split(units, scale)
  const digits = fraction.replace(/0+$/, '')
  return digits === '' ? `${sign}${whole}` : `${sign}${whole}.${digits}`
}

/** Formats `units / 10^scale` with exactly `digits` digits after the point; half rounds away from zero by default. */
export function formatFixed(
  units: bigint,
  options: { readonly scale: number; readonly digits: number; readonly rounding?: Rounding },
): string {
  const { scale, digits, rounding = 'half_away_from_zero' } = options
  const rounded = rescale(units, { from: scale, to: digits, rounding })
  const { sign, whole, fraction } = split(rounded, digits)
  return digits === 0 ? `${sign}${whole}` : `${sign}${whole}.${fraction}`
}

/** Converts units of 10^-from to units of 10^-to; excess digits are rounded by `rounding`. */
export function rescale(
  units: bigint,
  options: { readonly from: number; readonly to: number; readonly rounding: Rounding },
): bigint {
  const { from, to, rounding } = options
  if (to === from) return units
  if (to > from) return units * pow10(to - from)
  const divisor = pow10(from - to)
  return rounding === 'toward_zero' ? units / divisor : divHalfAwayFromZero(units, divisor)
}

function split(units: bigint, scale: number): { sign: string; whole: string; fraction: string } {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0')
  const point = digits.length - scale
  return { sign: units < 0n ? '-' : '', whole: digits.slice(0, point), fraction: digits.slice(point) }
}
