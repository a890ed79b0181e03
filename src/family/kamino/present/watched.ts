import { createWatchedLending } from '../../../finance/lending/watched.ts'
import { healthFactor } from '../../../finance/math/lending.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import type { AssessedObligation } from '../math/risk.ts'

/** Converts an obligation to the figures that triggers watch: undefined figures if the position is undefined. */
export function toConfirmedFigures(position: AssessedObligation | undefined): ConfirmedFigures {
  const totals = position?.totals
  return createWatchedLending({
    healthFactor: totals && healthFactor(totals),
    totals,
    isLiquidatable: position && position.liquidatableBecause.length > 0,
    dueInSec: position && computeDueInSec(position),
  })
}

function computeDueInSec({ dueAtSec, snapshot: { timestampSec } }: AssessedObligation): bigint | 'max' {
  if (dueAtSec === undefined) return 'max'
  return dueAtSec > timestampSec ? dueAtSec - timestampSec : 0n
}
