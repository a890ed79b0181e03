import type { Chain } from './chain.ts'
import { CHAIN_ROWS, type ChainRow } from './table/chains.ts'
import { FEED_ROWS } from './table/feeds.ts'
import { STABLECOIN_ROWS } from './table/stablecoins.ts'

/** How old the newest block may be if no source gives the block time: some chains make blocks on demand only. */
const UNKNOWN_PACE_AGE_SEC = 600

/** The built-in chains, by id, each with public endpoints that need no key. */
export const CHAINS: readonly Chain[] = CHAIN_ROWS.map(chainFrom)

/** Those of them that are served by default. */
export const DEFAULT_CHAIN_IDS: readonly number[] = [1, 10, 56, 137, 8_453, 42_161, 43_114]

function chainFrom({ aaveOracle, wrappedNative, ...row }: ChainRow): Chain {
  const feeds = FEED_ROWS[row.id] ?? []
  return {
    ...row,
    ...(row.blockTimeMs === 0 ? { maxBlockAgeSec: UNKNOWN_PACE_AGE_SEC } : {}),
    // An endpoint that does not know the tag answers with an error; a depth that is too small would go unnoticed.
    finality: { tag: 'finalized' },
    prices: {
      usdFeeds: Object.fromEntries(feeds.map(([, token, feed, heartbeatSec]) => [token, { feed, heartbeatSec }])),
      stablecoins: STABLECOIN_ROWS[row.id] ?? [],
      ...(aaveOracle === undefined ? {} : { aaveOracle }),
      ...(wrappedNative === undefined ? {} : { wrappedNative }),
    },
    spamTokens: [],
  }
}
