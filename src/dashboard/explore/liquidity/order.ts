import { sumDollars } from '../../lib/decimal.ts'
import type { Position } from '../../lib/shapes.ts'

/** Filter and order of the positions. */
export interface Order {
  /** `listed`: order of the service, by token id. */
  readonly by: 'listed' | 'value' | 'fees' | 'pnl'
  /** `out`: open and out of range. */
  readonly show: 'all' | 'in' | 'out' | 'closed'
  /** US dollars; hides positions below it, but none of unknown value. */
  readonly least: string
}

export const AS_LISTED: Order = { by: 'listed', show: 'all', least: '0' }

const FIGURES: Record<Exclude<Order['by'], 'listed'>, (position: Position) => string | null | undefined> = {
  value: ({ usd }) => usd?.total,
  fees: ({ usd }) => usd?.uncollected_fees,
  pnl: ({ pnl }) => pnl?.pnl_usd_value,
}

/** Filters and sorts positions: the largest figure first, unknown ones last. */
export function sortPositions(positions: readonly Position[], { by, show, least }: Order) {
  const shown = positions.filter((each) => (show === 'all' || show === toState(each)) && !isSmall(each, Number(least)))
  if (by === 'listed') return shown
  const figure = (each: Position) => {
    const text = FIGURES[by](each)
    return text === null || text === undefined ? Number.NEGATIVE_INFINITY : Number(text)
  }
  return shown.toSorted((a, b) => (figure(a) === figure(b) ? 0 : figure(b) - figure(a)))
}

/**
 * Computes exact sums over positions. `count` is the number of positions in a sum; a position without a price, or without
 * profit and loss yet, is in none.
 */
export function computeTotals(positions: readonly Position[]) {
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

function sumFigures(positions: readonly Position[], figure: (position: Position) => string | null | undefined) {
  const texts = positions.map(figure).filter((text) => text !== null && text !== undefined)
  return { usd: sumDollars(texts), count: texts.length }
}

function toState({ is_active: isActive, in_range: inRange }: Position) {
  if (!isActive) return 'closed'
  return inRange === true ? 'in' : 'out'
}

function isSmall({ usd }: Position, least: number) {
  return typeof usd?.total === 'string' && Number(usd.total) < least
}
