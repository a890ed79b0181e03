import { type Hex, zeroAddress } from 'viem'
import { isLendingEventType } from '../lending/lending_event.ts'
import { createMarketWatcher } from '../lending/read_watched_markets.ts'
import type { Watcher } from '../watch.ts'
import { decodeLogs } from './event/decode.ts'
import { createFilters } from './event/log.ts'
import { toConfirmedFigures } from './present/present.ts'
import { createCometReader } from './read/read.ts'
import type { CompoundV3Market } from './table.ts'

/**
 * Creates the reader of wallets in markets, for triggers. An absorption is one event, that of the debt. A transfer of a
 * debt logs nothing, so that figures alone tell of it.
 */
export function createWatcher(options: Parameters<typeof createCometReader>[0]): Watcher {
  return createMarketWatcher({
    reader: createCometReader(options),
    getMarket: ({ market }) => market,
    toConfirmedFigures,
    events: {
      createFilters: (market) => createFilters(toSource(market), null),
      list: (market, logs) =>
        decodeLogs(toSource(market), logs, { subjects: null }).rows.flatMap((row) => {
          const { kind, leg, wallet, block: blockNumber, logIndex } = row
          return leg === 0 && isLendingEventType(kind) ? [{ wallet, type: kind, blockNumber, logIndex }] : []
        }),
    },
  })
}

/** Events are told without their tokens, which are not read here. */
function toSource({ comet }: CompoundV3Market) {
  return { contract: comet.toLowerCase() as Hex, base: zeroAddress }
}
