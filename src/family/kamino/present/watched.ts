import { createWatchedLending } from '../../../finance/lending/watched.ts'
import { healthFactor } from '../../../finance/math/lending.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import type { ObligationPosition } from '../math/position.ts'

/** Converts an obligation to the figures that triggers watch: undefined figures if the position is undefined. */
export function toConfirmedFigures(position: ObligationPosition | undefined): ConfirmedFigures {
  const totals = position?.totals
  return createWatchedLending({ healthFactor: totals && healthFactor(totals), totals })
}
