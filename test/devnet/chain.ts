import type { Chain } from '../../src/chain/chain.ts'
import { TOKENS } from './addresses.ts'
import type { Devnet } from './mod.ts'

/** The devnet as configuration describes a chain, with a feed for every token; nothing is reused between reads. */
export function chainOf(devnet: Devnet, overrides: Partial<Chain> = {}): Chain {
  return {
    id: devnet.chainId,
    name: 'Devnet',
    rpcUrls: [devnet.rpcUrl],
    blockTimeMs: 0,
    finality: { depth: 0 },
    multicall3: devnet.addresses.multicall3,
    prices: {
      usdFeeds: Object.fromEntries(
        Object.values(TOKENS).map(({ address, feed }) => [address, { feed, heartbeatSec: 86_400 }]),
      ),
      stablecoins: [],
      wrappedNative: TOKENS.weth.address,
    },
    spamTokens: [],
    ...overrides,
  }
}
