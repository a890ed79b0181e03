import { PNL_FIELDS } from '../../../finance/liquidity/present.ts'
import { computeFigures } from '../math/figures.ts'
import type { Position } from '../read/position.ts'

/** What tells fees from principal that was withdrawn. */
const SPLIT_FIELDS = ['uncollected_fees', 'withdrawn_principal', 'usd.uncollected_fees', 'usd.withdrawn_principal']

/** Paths of the figures of a position at `path` that state does not tell. */
export function listUncoveredPaths(position: Position, path: string): string[] {
  return [...PNL_FIELDS.map((field) => `${path}.${field}`), ...unsplitOf(position, path)]
}

/** The same of the positions of a list. */
export function listAllUncoveredPaths(positions: readonly Position[]): string[] {
  if (positions.length === 0) return []
  const unsplit = positions.flatMap((position, index) => unsplitOf(position, `data[${index}]`))
  return [...PNL_FIELDS.map((field) => `data[*].${field}`), ...unsplit]
}

function unsplitOf(position: Position, path: string): string[] {
  return computeFigures(position).fees === undefined ? SPLIT_FIELDS.map((field) => `${path}.${field}`) : []
}
