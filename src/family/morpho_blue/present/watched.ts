import { createWatchedLending, EMPTY_LENDING } from '../../../finance/lending/watched.ts'
import type { ConfirmedFigures } from '../../watch.ts'
import type { MarketMemo } from '../math/market.ts'
import type { HeldRead } from '../read/position.ts'
import { healthOf } from './list.ts'

/** What triggers see of a position. */
export function watchedPosition(read: HeldRead): ConfirmedFigures {
  const held = read.kind === 'position' ? read.position : read.held
  const { marketId, params, market, supplied, owed, collateral } = held
  const memo: MarketMemo = { marketId, lltvWad: params.lltv, market, supplied, owed, collateral }
  const totals = read.kind === 'position' ? read.position.totals : undefined
  return createWatchedLending({ healthFactor: healthOf(held), totals }, totals && memo)
}

/** The same of a wallet that has nothing in a market. */
export const WATCHED_NOTHING = createWatchedLending(EMPTY_LENDING, 'nothing')

/** What is remembered of a position: undefined if it cannot be foreseen. */
export type WatchedMemo = MarketMemo | 'nothing' | undefined
