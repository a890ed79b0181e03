import type { Chain } from '../../src/chain/chain.ts'
import { TOKENS } from './addresses.ts'
import type { Devnet } from './mod.ts'

/** Ten years: the devnet's time is moved by weeks, and it makes blocks only when something happens. */
export const BLOCK_AGE_SEC_MAX = 10 * 365 * 86_400

/** Text of a `CHAINS_FILE` that puts a devnet in Ethereum's place. */
export function chainsFileOf(rpcUrl: string): string {
  const chain = { id: 1, name: 'Ethereum', rpcUrls: [rpcUrl], maxBlockAgeSec: BLOCK_AGE_SEC_MAX }
  return JSON.stringify({ chains: [chain] })
}

/** The devnet as configuration describes a chain, with a feed for every token; nothing is reused between reads. */
export function chainOf(devnet: Devnet, overrides: Partial<Chain> = {}): Chain {
  return {
    id: devnet.chainId,
    name: 'Devnet',
    rpcUrls: [devnet.rpcUrl],
    blockTimeMs: 0,
    maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
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
