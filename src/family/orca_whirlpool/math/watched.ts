import type { Decimal } from '../../../lib/number/decimal.ts'
import { distanceToEdge, type FigureFormulas, toExactRational } from '../../liquidity/watched.ts'
import { computeFigures, type FigureInput } from './figures.ts'

/** Creates the formulas of the figures that triggers watch: US dollars are of amounts after transfer fees. */
export function createFigureFormulas(position: FigureInput): FigureFormulas {
  const { inRange, roots, worths } = computeFigures(position)
  return {
    in_range: () => inRange,
    is_active: () => position.state.liquidity > 0n,
    fees_usd: () => sumWorths(worths.fees),
    value_usd: () => sumWorths(worths.total),
    distance_to_edge_percentage: () => distanceToEdge(roots),
  }
}

function sumWorths(worths: readonly (Decimal | undefined)[]) {
  const known = worths.filter((worth) => worth !== undefined)
  return known.length === worths.length ? toExactRational(known) : undefined
}
