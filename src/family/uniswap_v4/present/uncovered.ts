import { PNL_FIELDS } from '../../../finance/liquidity/present.ts'
import { needsWithdrawal } from '../math/hooks.ts'
import type { Position } from '../read/position.ts'

/**
 * What rests on an executed withdrawal. It runs with other code at the owner's address, and records hold calls of lenses
 * at their own.
 */
const WITHDRAWAL_FIELDS = ['withdrawable', 'withdrawable_error', 'usd.total']

/** Paths of the figures of a position that no receipt covers. */
export function listUncoveredPaths(position: Position): string[] {
  const fields = [...PNL_FIELDS, ...(needsWithdrawal(position) ? WITHDRAWAL_FIELDS : [])]
  return fields.map((field) => `data.${field}`)
}
