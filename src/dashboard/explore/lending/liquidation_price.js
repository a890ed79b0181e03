import { formatDollars, formatRatioAsPercent, formatSignificant } from '../../lib/decimal.js'
import { html } from '../../lib/view.js'
import { liquidationAt, NO_STEPS, whatIf } from './what_if.js'

/** From so many times today's price on, percent say less. */
const TIMES_FROM = 10

/**
 * Where a token's price alone has the position liquidated: a multiple of today's, and that price in words if it is known.
 * @typedef {{ multiple: number | undefined, price?: string, isPassed: boolean }} EdgeAt `isPassed`: it can be liquidated already
 */

/**
 * The edge of one token of a position; undefined if nothing can be liquidated, as nothing is owed. A token on both sides
 * has its edge on the side that its price hurts.
 * @param {import('./what_if.js').Legs | undefined} legs
 * @param {{ id: string, isOwed: boolean }} token
 * @param {(multiple: number) => string | undefined} [priceAt]
 * @returns {EdgeAt | undefined}
 */
export function computeLiquidationPrice(legs, { id, isOwed }, priceAt = () => undefined) {
  if (legs === undefined || !legs.debts.some(({ usd }) => usd > 0)) return undefined
  const multiple = liquidationAt(legs, id)
  if (isOwed && multiple === undefined) return undefined
  const isPassed = whatIf(legs, NO_STEPS).healthFactor < 1
  if (multiple !== undefined && isOwed !== (isPassed ? multiple < 1 : multiple > 1)) return undefined
  return { multiple, price: multiple === undefined ? undefined : priceAt(multiple), isPassed }
}

/** Dollars of a price that is a multiple of one in decimal digits. @param {string | undefined} usd */
export function multiplyPrice(usd) {
  return (/** @type {number} */ multiple) =>
    usd === undefined ? undefined : formatDollars(formatPlain(Number(usd) * multiple))
}

/** A number as decimal digits that the pages can write. @param {number} value */
export function formatPlain(value) {
  return value.toFixed(value < 1 ? 12 : 6)
}

/** @param {{ at: EdgeAt }} props */
export function LiquidationPrice({ at: { multiple, price, isPassed } }) {
  if (multiple === undefined) return isPassed ? 'No price of it alone saves it.' : 'No price of it alone liquidates.'
  const words = isPassed ? 'Liquidated until' : 'Liquidation at'
  return html`${words} ${price !== undefined && html`<b>${price}</b>, `}<b>${changeText(multiple)}</b>`
}

/** @param {number} multiple */
function changeText(multiple) {
  if (multiple >= TIMES_FROM) return `${formatSignificant(multiple.toFixed(2), 3)} times today's`
  return `${multiple < 1 ? '−' : '+'}${formatRatioAsPercent(Math.abs(multiple - 1).toFixed(6), 1)}`
}
