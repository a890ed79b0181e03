import { createTestClient, defineChain, http, publicActions, walletActions } from 'viem'
import { MULTICALL3 } from './addresses.ts'

export type DevnetClient = ReturnType<typeof createDevnetClient>

/** A viem client that reads, writes from any address, and steers the chain (mine, time, snapshots, code). */
export function createDevnetClient({ rpcUrl, chainId }: { readonly rpcUrl: string; readonly chainId: number }) {
  const chain = defineChain({
    id: chainId,
    name: 'Devnet',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    contracts: { multicall3: { address: MULTICALL3 } },
  })
  return createTestClient({ mode: 'anvil', chain, transport: http(rpcUrl), pollingInterval: 20, cacheTime: 0 })
    .extend(publicActions)
    .extend(walletActions)
}
