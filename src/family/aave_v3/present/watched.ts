import { NOTHING_LENT, watchedLending } from '../../../finance/lending/watched.ts'
import { WAD } from '../../../lib/number/fixed_point.ts'
import { rational } from '../../../lib/number/rational.ts'
import type { Confirmed } from '../../watch.ts'
import { totalsOf } from '../math/account.ts'
import { memoOf, NO_LEGS } from '../math/foresight.ts'
import type { Position } from '../read/position.ts'

/** What triggers see of a position; the health factor is the pool's own. */
export function watchedPosition(position: Position): Confirmed {
  const { data } = position
  const healthFactor = data.totalDebt === 0n ? 'max' : rational(data.healthFactorWad, WAD)
  return watchedLending({ healthFactor, totals: totalsOf(position) }, memoOf(position))
}

/** The same of a wallet that has nothing in a market. */
export const WATCHED_NOTHING = watchedLending(NOTHING_LENT, NO_LEGS)
