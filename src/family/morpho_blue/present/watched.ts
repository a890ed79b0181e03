import { createWatchedLending, EMPTY_LENDING } from '../../../finance/lending/watched.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import type { MarketMemo } from '../math/market.ts'
import type { HeldRead } from '../read/position.ts'
import { computePositionHealth } from './list.ts'

/** What triggers see of a position. */
export function toConfirmedFigures(read: HeldRead): ConfirmedFigures {
  const held = read.kind === 'position' ? read.position : read.held
  const { marketId, params, market, supplied, owed, collateral } = held
  const memo: MarketMemo = { marketId, lltvWad: params.lltv, market, supplied, owed, collateral }
  const totals = read.kind === 'position' ? read.position.totals : undefined
  return createWatchedLending({ healthFactor: computePositionHealth(held), totals }, totals && memo)
}

/** The same of a wallet that has nothing in a market. */
export const EMPTY_CONFIRMED = createWatchedLending(EMPTY_LENDING, 'nothing')

/** What is remembered of a position: undefined if it cannot be foreseen. */
export type ForecastMemo = MarketMemo | 'nothing' | undefined
