import { PNL_FIELDS } from '../../liquidity/present.ts'
import { needsWithdrawal } from '../math/hooks.ts'
import type { Position } from '../read/position.ts'

/**
 * Figures that depend on an executed withdrawal. The withdrawal runs with replaced code at the owner's address, while a
 * record holds calls of lenses at their own addresses.
 */
const WITHDRAWAL_FIELDS = ['withdrawable', 'withdrawable_error', 'usd.total']

/** Lists the paths of a position's figures that no receipt covers. */
export function listUncoveredPaths(position: Position): string[] {
  const fields = [...PNL_FIELDS, ...(needsWithdrawal(position) ? WITHDRAWAL_FIELDS : [])]
  return fields.map((field) => `data.${field}`)
}
