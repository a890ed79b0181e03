import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MARKETS } from './aave_v3/addresses.ts'
import { UNISWAP_V3 } from './addresses.ts'
import { CHAIN_ID_DEFAULT } from './mod.ts'

/** The devnet as a `CHAINS_FILE` describes it: what stands there of what Ethereum's built-in row lists. */
export function chainRowOf(rpcUrl: string) {
  return {
    ...{ id: CHAIN_ID_DEFAULT, name: 'Ethereum', rpcUrls: [rpcUrl] },
    uniswapV3: [{ manager: UNISWAP_V3.manager, factory: UNISWAP_V3.factory, startBlock: 0, code: 'uniswap_v3' }],
    aaveV3: (['main', 'lido', 'etherfi'] as const).map((market) => ({
      ...{ market, poolAddressesProvider: MARKETS[market].provider, startBlock: 0 },
    })),
  }
}

/** Writes a `CHAINS_FILE` with the devnet into a directory; the environment of a service that serves it alone. */
export function chainsEnvironment(rpcUrl: string, directory: string): { CHAINS: string; CHAINS_FILE: string } {
  const path = join(directory, 'chains.json')
  writeFileSync(path, JSON.stringify({ chains: [chainRowOf(rpcUrl)] }))
  return { CHAINS: String(CHAIN_ID_DEFAULT), CHAINS_FILE: path }
}
