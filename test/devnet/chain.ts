import type { FinanceChain } from '../../src/finance/chain.ts'
import { MARKETS } from './aave_v3/addresses.ts'
import { TOKENS, UNISWAP_V3 } from './addresses.ts'
import type { Devnet } from './mod.ts'
import { MORPHO } from './morpho_blue/calls.ts'
import { UNISWAP_V4 } from './uniswap_v4/addresses.ts'

/** Ten years: the devnet's time is moved by weeks, and it makes blocks only when something happens. */
export const BLOCK_AGE_SEC_MAX = 10 * 365 * 86_400

/** Ethereum's row as a devnet that stands in its place can be: what is built in besides does not stand there. */
export const DEVNET_ROW = {
  id: 1,
  name: 'Ethereum',
  maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
  uniswapV3: [{ manager: UNISWAP_V3.manager, factory: UNISWAP_V3.factory }],
  aaveV3: (['main', 'lido', 'etherfi'] as const).map((market) => ({
    market,
    poolAddressesProvider: MARKETS[market].provider,
  })),
  morphoBlue: { morpho: MORPHO },
  uniswapV4: { positionManager: UNISWAP_V4.positionManager, poolManager: UNISWAP_V4.poolManager },
}

/** Text of a `CHAINS_FILE` that puts a devnet in Ethereum's place; `more` replaces entries of its row. */
export function createChainsFile(rpcUrl: string, more: object = {}): string {
  const chain = { ...DEVNET_ROW, ...more, rpcUrls: [rpcUrl] }
  return JSON.stringify({ chains: [chain] })
}

/** The devnet as configuration describes a chain, with a feed for every token; nothing is reused between reads. */
export function createDevnetChain(devnet: Devnet, overrides: Partial<FinanceChain> = {}): FinanceChain {
  return {
    id: devnet.chainId,
    name: 'Devnet',
    nativeCurrency: { symbol: 'ETH', decimals: 18, wrapped: TOKENS.weth.address },
    rpcUrls: [devnet.rpcUrl],
    reuseMs: 0,
    maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
    finality: { depth: 0 },
    prices: {
      usdFeeds: Object.fromEntries(
        Object.values(TOKENS).map(({ address, feed }) => [address, { feed, heartbeatSec: 86_400 }]),
      ),
      stablecoins: [],
    },
    tokens: { addresses: Object.values(TOKENS).map(({ address }) => address), names: ['devnet'], added: [] },
    spamTokens: [],
    ...overrides,
  }
}
