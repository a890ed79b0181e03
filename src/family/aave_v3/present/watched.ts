import { createWatchedLending, EMPTY_LENDING } from '../../lending/watched.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import { computeTotals, getHealthFactor } from '../math/account.ts'
import { createMemo, NO_LEGS } from '../math/forecast.ts'
import { findLiquidationReasons } from '../math/rule.ts'
import type { Position } from '../read/position.ts'

/** The confirmed figures of a position, for triggers. */
export function toConfirmedFigures(position: Position): ConfirmedFigures {
  return createWatchedLending(
    {
      healthFactor: getHealthFactor(position),
      totals: computeTotals(position),
      isLiquidatable: findLiquidationReasons(position).length > 0,
      dueInSec: 'max',
    },
    createMemo(position),
  )
}

/** Confirmed figures of a wallet without a position in a market. */
export const EMPTY_CONFIRMED = createWatchedLending(EMPTY_LENDING, NO_LEGS)
