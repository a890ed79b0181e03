import { createWatchedLending, EMPTY_LENDING } from '../../../finance/lending/watched.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import { healthFactorOf, totalsOf } from '../math/account.ts'
import { memoOf, NO_LEGS } from '../math/foresight.ts'
import type { Position } from '../read/position.ts'

/** What triggers see of a position. */
export function watchedPosition(position: Position): ConfirmedFigures {
  return createWatchedLending({ healthFactor: healthFactorOf(position), totals: totalsOf(position) }, memoOf(position))
}

/** The same of a wallet that has nothing in a market. */
export const WATCHED_NOTHING = createWatchedLending(EMPTY_LENDING, NO_LEGS)
