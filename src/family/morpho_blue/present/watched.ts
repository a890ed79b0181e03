import { createWatchedLending, EMPTY_LENDING } from '../../lending/watched.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import type { MarketMemo } from '../math/market.ts'
import { findLiquidationReasons } from '../math/rule.ts'
import type { HeldRead } from '../read/position.ts'
import { computePositionHealth } from './list.ts'

/** The confirmed figures of a position, for triggers. */
export function toConfirmedFigures(read: HeldRead): ConfirmedFigures {
  const held = read.kind === 'position' ? read.position : read.held
  const { marketId, params, market, supplied, owed, collateral } = held
  const memo: MarketMemo = { marketId, lltvWad: params.lltv, market, supplied, owed, collateral }
  const totals = read.kind === 'position' ? read.position.totals : undefined
  const healthFactor = computePositionHealth(held)
  const isLiquidatable = findLiquidationReasons(held, healthFactor).length > 0
  return createWatchedLending({ healthFactor, totals, isLiquidatable, dueInSec: 'max' }, totals && memo)
}

/** Confirmed figures of a wallet without a position in a market. */
export const EMPTY_CONFIRMED = createWatchedLending(EMPTY_LENDING, 'nothing')

/** Memo of a position for the forecaster; undefined if its figures cannot be forecast. */
export type ForecastMemo = MarketMemo | 'nothing' | undefined
