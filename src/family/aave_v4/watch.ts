import { createMarketWatcher } from '../lending/read_watched_markets.ts'
import type { Watcher } from '../watch.ts'
import { toConfirmedFigures } from './present/present.ts'
import { createSpokeReader } from './read/read.ts'

/** Creates the reader of wallets in spokes, for triggers. */
export function createWatcher(options: Parameters<typeof createSpokeReader>[0]): Watcher {
  return createMarketWatcher({ reader: createSpokeReader(options), getMarket: ({ name }) => name, toConfirmedFigures })
}
