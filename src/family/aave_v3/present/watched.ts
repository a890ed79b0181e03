import { createWatchedLending, EMPTY_LENDING } from '../../../finance/lending/watched.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import { computeTotals, getHealthFactor } from '../math/account.ts'
import { createMemo, NO_LEGS } from '../math/forecast.ts'
import type { Position } from '../read/position.ts'

/** What triggers see of a position. */
export function toConfirmedFigures(position: Position): ConfirmedFigures {
  return createWatchedLending(
    { healthFactor: getHealthFactor(position), totals: computeTotals(position) },
    createMemo(position),
  )
}

/** The same of a wallet that has nothing in a market. */
export const EMPTY_CONFIRMED = createWatchedLending(EMPTY_LENDING, NO_LEGS)
