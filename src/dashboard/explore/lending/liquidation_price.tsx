import { formatDollars, formatRatioAsPercent, formatSignificant } from '../../lib/decimal.ts'
import type { Legs } from './what_if.ts'
import { liquidationAt, NO_STEPS, whatIf } from './what_if.ts'

/** From this multiple of today's price on, the text shows the multiple instead of a percentage. */
const MULTIPLE_MIN = 10

/**
 * The price of one token alone at which the position is liquidated: as a multiple of today's, and as text if known.
 */
export interface Edge {
  readonly multiple: number | undefined
  readonly price: string | undefined
  /** The position can be liquidated already. */
  readonly isPassed: boolean
}

/**
 * Returns the liquidation price of one token of a position; undefined without debt. A token on both sides has it on the
 * side where a price move hurts.
 */
export function computeLiquidationPrice(
  legs: Legs | undefined,
  { id, isOwed }: { id: string; isOwed: boolean },
  formatPrice: (multiple: number) => string | undefined = () => undefined,
): Edge | undefined {
  if (legs === undefined || !legs.debts.some(({ usd }) => usd > 0)) return undefined
  const multiple = liquidationAt(legs, id)
  if (isOwed && multiple === undefined) return undefined
  const isPassed = whatIf(legs, NO_STEPS).healthFactor < 1
  if (multiple !== undefined && isOwed !== (isPassed ? multiple < 1 : multiple > 1)) return undefined
  return { multiple, price: multiple === undefined ? undefined : formatPrice(multiple), isPassed }
}

/** Returns a function that formats a multiple of a price in US dollars. */
export function multiplyPrice(usd: string | undefined) {
  return (multiple: number) => (usd === undefined ? undefined : formatDollars(formatPlain(Number(usd) * multiple)))
}

/** Digits after the point at most, as `toFixed` has no more. */
const FRACTION_MAX = 100

/**
 * Formats a number, 0 or above, as plain decimal digits, without an exponent; a small one keeps several of its digits.
 */
export function formatPlain(value: number) {
  if (value >= 1e21) return BigInt(value).toString()
  if (value >= 1 || value === 0) return value.toFixed(6)
  return value.toFixed(Math.min(FRACTION_MAX, 12 - Math.floor(Math.log10(value))))
}

interface LiquidationPriceProps {
  readonly symbol: string
  readonly at: Edge
}

/** Says at which price of a token alone a position can be liquidated, or is safe again. */
export function LiquidationPrice({ symbol, at: { multiple, price, isPassed } }: LiquidationPriceProps) {
  if (multiple === undefined)
    return isPassed
      ? `No price of ${symbol} alone makes this position safe again.`
      : `Even at $0, ${symbol} alone cannot liquidate this position.`
  const words = isPassed ? `Can be liquidated now. Safe again ${multiple > 1 ? 'above' : 'below'}` : 'Liquidation at'
  return (
    <>
      {words}{' '}
      {price !== undefined && (
        <>
          <b>{price}</b>,{' '}
        </>
      )}
      <b>{formatMultiple(multiple)}</b>
      {price === undefined && multiple < MULTIPLE_MIN && " from today's price"}
    </>
  )
}

function formatMultiple(multiple: number) {
  if (multiple >= MULTIPLE_MIN) return `${formatSignificant(formatPlain(multiple), 3)} times today's`
  return `${multiple < 1 ? '−' : '+'}${formatRatioAsPercent(Math.abs(multiple - 1).toFixed(6), 1)}`
}
