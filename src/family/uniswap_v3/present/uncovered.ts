import { PNL_FIELDS } from '../../liquidity/present.ts'
import { computeFigures } from '../math/figures.ts'
import type { Position } from '../read/position.ts'

/** Fields that separate fees from withdrawn principal. */
const SPLIT_FIELDS = ['uncollected_fees', 'withdrawn_principal', 'usd.uncollected_fees', 'usd.withdrawn_principal']

/** Lists the paths of a position's figures that state alone does not determine; the position is at `path`. */
export function listUncoveredPaths(position: Position, path: string): string[] {
  return [...PNL_FIELDS.map((field) => `${path}.${field}`), ...listUnsplitPaths(position, path)]
}

/** Lists these paths for the positions of a list. */
export function listAllUncoveredPaths(positions: readonly Position[]): string[] {
  if (positions.length === 0) return []
  const unsplit = positions.flatMap((position, index) => listUnsplitPaths(position, `data[${index}]`))
  return [...PNL_FIELDS.map((field) => `data[*].${field}`), ...unsplit]
}

function listUnsplitPaths(position: Position, path: string): string[] {
  return computeFigures(position).fees === undefined ? SPLIT_FIELDS.map((field) => `${path}.${field}`) : []
}
