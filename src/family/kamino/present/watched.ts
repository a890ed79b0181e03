import { createWatchedLending } from '../../../finance/lending/watched.ts'
import { healthFactor } from '../../../finance/math/lending.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import type { ObligationPosition } from '../math/position.ts'

/** What triggers see of an obligation; of one whose figures cannot be told nothing. */
export function toConfirmedFigures(position: ObligationPosition | undefined): ConfirmedFigures {
  const totals = position?.totals
  return createWatchedLending({ healthFactor: totals && healthFactor(totals), totals })
}
