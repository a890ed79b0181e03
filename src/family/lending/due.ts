import * as v from 'valibot'
import { LIQUIDATION_REASONS, type LiquidationReason } from '../../finance/liquidation_reason.ts'

export type { LiquidationReason }

/** Schemas of what can be called due of a position, shown beside its health factor. */
export const dueFields = {
  liquidatable_because: v.pipe(
    v.array(v.picklist(LIQUIDATION_REASONS)),
    v.description('Every reason for which any wallet may liquidate it now; [] if there is none'),
  ),
  due_at: v.pipe(
    v.nullable(v.pipe(v.number(), v.integer())),
    v.description(
      'Earliest time known from which its debt can be called due whatever its health factor, Unix seconds: the end of a ' +
        'term, a maturity, a deleveraging; it may lie in the past; null if none is set',
    ),
  ),
}

/** Presents what can be called due. */
export function presentDue({
  liquidatableBecause,
  dueAtSec,
}: {
  readonly liquidatableBecause: readonly LiquidationReason[]
  readonly dueAtSec: bigint | undefined
}) {
  return { liquidatable_because: [...liquidatableBecause], due_at: dueAtSec === undefined ? null : Number(dueAtSec) }
}
