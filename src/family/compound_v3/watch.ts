import { createMarketWatcher } from '../lending/read_watched_markets.ts'
import type { Watcher } from '../watch.ts'
import { toConfirmedFigures } from './present/present.ts'
import { createCometReader } from './read/read.ts'

/** Creates the reader of wallets in markets, for triggers. */
export function createWatcher(options: Parameters<typeof createCometReader>[0]): Watcher {
  return createMarketWatcher({
    reader: createCometReader(options),
    getMarket: ({ market }) => market,
    toConfirmedFigures,
  })
}
