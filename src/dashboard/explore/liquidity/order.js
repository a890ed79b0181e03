import { sumDollars } from '../../lib/decimal.js'

/** @typedef {import('../../lib/shapes.d.ts').Position} Position */

/**
 * Which positions are shown, and in which order.
 * @typedef {object} Order
 * @property {'listed' | 'value' | 'fees' | 'pnl'} by `listed`: as the service lists them, by token id
 * @property {'all' | 'in' | 'out' | 'closed'} show in range, out of range though open, closed
 * @property {string} least US dollars; below it a position is hidden, but never one whose value is unknown
 */

/** @type {Order} */
export const AS_LISTED = { by: 'listed', show: 'all', least: '0' }

/** @type {Record<Exclude<Order['by'], 'listed'>, (position: Position) => string | null | undefined>} */
const FIGURES = {
  value: ({ usd }) => usd?.total,
  fees: ({ usd }) => usd?.uncollected_fees,
  pnl: ({ pnl }) => pnl?.pnl_usd_value,
}

/**
 * Positions that are shown, the largest figure first and unknown ones last.
 * @param {readonly Position[]} positions
 * @param {Order} order
 */
export function sortPositions(positions, { by, show, least }) {
  const shown = positions.filter((each) => (show === 'all' || show === stateOf(each)) && !isSmall(each, Number(least)))
  if (by === 'listed') return shown
  const figure = (/** @type {Position} */ each) => {
    const text = FIGURES[by](each)
    return text === null || text === undefined ? Number.NEGATIVE_INFINITY : Number(text)
  }
  return shown.toSorted((a, b) => (figure(a) === figure(b) ? 0 : figure(b) - figure(a)))
}

/**
 * Sums over positions, exact, and of how many each is: what has no price or no profit and loss yet is in no sum.
 * @param {readonly Position[]} positions
 */
export function computeTotals(positions) {
  const open = positions.filter(({ is_active: isActive }) => isActive)
  const inRange = open.filter((each) => stateOf(each) === 'in').length
  return {
    open: open.length,
    closed: positions.length - open.length,
    inRange,
    outOfRange: open.length - inRange,
    value: sumOf(open, FIGURES.value),
    fees: sumOf(open, FIGURES.fees),
    pnl: sumOf(open, FIGURES.pnl),
  }
}

/** @param {readonly Position[]} positions @param {(position: Position) => string | null | undefined} figure */
function sumOf(positions, figure) {
  const known = positions.map(figure).filter((text) => text !== null && text !== undefined)
  return { usd: sumDollars(known), of: known.length }
}

/** @param {Position} position */
function stateOf({ is_active: isActive, in_range: inRange }) {
  if (!isActive) return 'closed'
  return inRange === true ? 'in' : 'out'
}

/** @param {Position} position @param {number} least */
function isSmall({ usd }, least) {
  return typeof usd?.total === 'string' && Number(usd.total) < least
}
