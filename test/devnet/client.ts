import { createTestClient, defineChain, type HttpTransport, http, publicActions, walletActions } from 'viem'
import { MULTICALL3 } from './addresses.ts'

export type DevnetClient = ReturnType<typeof createDevnetClient>

/** A viem client that reads, writes from any address for nothing, and steers the chain (mine, time, snapshots, code). */
export function createDevnetClient({ rpcUrl, chainId }: { readonly rpcUrl: string; readonly chainId: number }) {
  const chain = defineChain({
    id: chainId,
    name: 'Devnet',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
    contracts: { multicall3: { address: MULTICALL3 } },
  })
  return createTestClient({
    mode: 'anvil',
    chain,
    transport: withoutFees(http(rpcUrl)),
    pollingInterval: 20,
    cacheTime: 0,
  })
    .extend(publicActions)
    .extend(walletActions)
}

/** The node itself would propose a fee that its senders, who have no ether, cannot pay. */
function withoutFees(transport: HttpTransport): HttpTransport {
  return (config) => {
    const inner = transport(config)
    const request: typeof inner.request = ({ method, params }, options) => {
      const [first, ...rest] = Array.isArray(params) ? params : []
      const free = method === 'eth_sendTransaction' ? [{ gasPrice: '0x0', ...first }, ...rest] : params
      return inner.request({ method, params: free }, options)
    }
    return { ...inner, request }
  }
}
