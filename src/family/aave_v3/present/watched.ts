import { NOTHING_LENT, watchedLending } from '../../../finance/lending/watched.ts'
import type { Confirmed } from '../../watch.ts'
import { healthFactorOf, totalsOf } from '../math/account.ts'
import { memoOf, NO_LEGS } from '../math/foresight.ts'
import type { Position } from '../read/position.ts'

/** What triggers see of a position. */
export function watchedPosition(position: Position): Confirmed {
  return watchedLending({ healthFactor: healthFactorOf(position), totals: totalsOf(position) }, memoOf(position))
}

/** The same of a wallet that has nothing in a market. */
export const WATCHED_NOTHING = watchedLending(NOTHING_LENT, NO_LEGS)
