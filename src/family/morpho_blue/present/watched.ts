import { lendingText, lendingValue, NOTHING_LENT } from '../../../finance/lending/watched.ts'
import type { Confirmed } from '../../watch.ts'
import type { MarketMemo } from '../math/market.ts'
import type { HeldRead } from '../read/position.ts'
import { healthOf } from './list.ts'

/** What triggers see of a position. */
export function watchedPosition(read: HeldRead): Confirmed {
  const held = read.kind === 'position' ? read.position : read.held
  const { marketId, params, market, supplied, owed, collateral } = held
  const memo: MarketMemo = { marketId, lltvWad: params.lltv, market, supplied, owed, collateral }
  const totals = read.kind === 'position' ? read.position.totals : undefined
  return confirmedFrom({ healthFactor: healthOf(held), totals }, totals && memo)
}

/** The same of a wallet that has nothing in a market. */
export const WATCHED_NOTHING = confirmedFrom(NOTHING_LENT, 'nothing')

/** The same if nothing can be told. */
export const WATCHED_UNKNOWN = confirmedFrom({ healthFactor: undefined, totals: undefined }, undefined)

/** What is remembered of a position: undefined if it cannot be foreseen. */
export type WatchedMemo = MarketMemo | 'nothing' | undefined

function confirmedFrom(figures: Parameters<typeof lendingValue>[0], memo: WatchedMemo): Confirmed {
  return {
    value: (figure) => lendingValue(figures, figure),
    text: (figure) => lendingText(figures, figure),
    memo,
  }
}
