import { lendingText, lendingValue } from '../../../finance/lending/watched.ts'
import { healthFactor } from '../../../finance/math/lending.ts'
import type { Confirmed } from '../../watch.ts'
import type { ObligationPosition } from '../math/position.ts'

/** What triggers see of an obligation; of one whose figures cannot be told nothing. */
export function watchedObligation(position: ObligationPosition | undefined): Confirmed {
  const totals = position?.totals
  const figures = { healthFactor: totals && healthFactor(totals), totals }
  return {
    value: (figure) => lendingValue(figures, figure),
    text: (figure) => lendingText(figures, figure),
    memo: undefined,
  }
}
