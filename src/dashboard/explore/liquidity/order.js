import { sumDollars } from '../../lib/decimal.js'

/** @typedef {import('../../lib/shapes.d.ts').Position} Position */

/**
 * Filter and order of the positions.
 * @typedef {object} Order
 * @property {'listed' | 'value' | 'fees' | 'pnl'} by `listed`: order of the service, by token id
 * @property {'all' | 'in' | 'out' | 'closed'} show `out`: open and out of range
 * @property {string} least US dollars; hides positions below it, but none of unknown value
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
 * Filters and sorts positions: the largest figure first, unknown ones last.
 * @param {readonly Position[]} positions
 * @param {Order} order
 */
export function sortPositions(positions, { by, show, least }) {
  const shown = positions.filter((each) => (show === 'all' || show === toState(each)) && !isSmall(each, Number(least)))
  if (by === 'listed') return shown
  const figure = (/** @type {Position} */ each) => {
    const text = FIGURES[by](each)
    return text === null || text === undefined ? Number.NEGATIVE_INFINITY : Number(text)
  }
  return shown.toSorted((a, b) => (figure(a) === figure(b) ? 0 : figure(b) - figure(a)))
}

/**
 * Computes exact sums over positions. `count` is the number of positions in a sum; a position without a price, or without
 * profit and loss yet, is in none.
 * @param {readonly Position[]} positions
 */
export function computeTotals(positions) {
  const open = positions.filter(({ is_active: isActive }) => isActive)
  const inRange = open.filter((each) => toState(each) === 'in').length
  return {
    open: open.length,
    closed: positions.length - open.length,
    inRange,
    outOfRange: open.length - inRange,
    value: sumFigures(open, FIGURES.value),
    fees: sumFigures(open, FIGURES.fees),
    pnl: sumFigures(open, FIGURES.pnl),
  }
}

/** @param {readonly Position[]} positions @param {(position: Position) => string | null | undefined} figure */
function sumFigures(positions, figure) {
  const texts = positions.map(figure).filter((text) => text !== null && text !== undefined)
  return { usd: sumDollars(texts), count: texts.length }
}

/** @param {Position} position */
function toState({ is_active: isActive, in_range: inRange }) {
  if (!isActive) return 'closed'
  return inRange === true ? 'in' : 'out'
}

/** @param {Position} position @param {number} least */
function isSmall({ usd }, least) {
  return typeof usd?.total === 'string' && Number(usd.total) < least
}
