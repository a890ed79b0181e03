import type { Hex } from 'viem'
import { isLendingEventType } from '../lending/lending_event.ts'
import { createMarketWatcher } from '../lending/read_watched_markets.ts'
import type { Watcher } from '../watch.ts'
import { createFilters, readLog } from './event/log.ts'
import { toConfirmedFigures } from './present/present.ts'
import { createSpokeReader } from './read/read.ts'
import type { AaveV4Spoke } from './table.ts'

/** Creates the reader of wallets in spokes, for triggers. */
export function createWatcher(options: Parameters<typeof createSpokeReader>[0]): Watcher {
  return createMarketWatcher({
    reader: createSpokeReader(options),
    getMarket: ({ name }) => name,
    toConfirmedFigures,
    events: {
      createFilters: (spoke) => createFilters(toContract(spoke), null),
      list: (spoke, logs) =>
        logs.flatMap((log) => {
          const { kind = '', wallet } = readLog(toContract(spoke), log) ?? {}
          const { blockNumber, logIndex } = log
          return wallet === undefined || !isLendingEventType(kind)
            ? []
            : [{ wallet, type: kind, blockNumber, logIndex }]
        }),
    },
  })
}

function toContract({ address }: AaveV4Spoke) {
  return { contract: address.toLowerCase() as Hex }
}
