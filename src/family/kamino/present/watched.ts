import { healthFactor } from '../../../finance/math/lending.ts'
import { createWatchedLending, WATCHED_UNKNOWN } from '../../lending/watched.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import type { AssessedObligation } from '../math/risk.ts'

/** Converts an obligation to the figures that triggers watch: undefined figures if the position is undefined. */
export function toConfirmedFigures(position: AssessedObligation | undefined): ConfirmedFigures {
  if (position === undefined) return WATCHED_UNKNOWN
  const { totals, liquidatableBecause, snapshot } = position
  const figures = createWatchedLending({
    healthFactor: healthFactor(totals),
    totals,
    isLiquidatable: liquidatableBecause.length > 0,
    dueInSec: computeDueInSec(position),
  })
  return { ...figures, owner: snapshot.obligation.owner }
}

function computeDueInSec({ dueAtSec, snapshot: { timestampSec } }: AssessedObligation): bigint | 'max' {
  if (dueAtSec === undefined) return 'max'
  return dueAtSec > timestampSec ? dueAtSec - timestampSec : 0n
}
