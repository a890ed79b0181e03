import { sumDollars } from '../../lib/decimal.ts'
import type { Position } from '../../lib/shapes.ts'

const FIGURES: Record<'value' | 'fees' | 'pnl', (position: Position) => string | null | undefined> = {
  value: ({ usd }) => usd?.total,
  // Fees of a position whose hook bars withdrawals cannot be collected.
  fees: ({ usd, withdrawable_error: error }) => (error ? undefined : usd?.uncollected_fees),
  pnl: ({ pnl }) => pnl?.pnl_usd_value,
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
