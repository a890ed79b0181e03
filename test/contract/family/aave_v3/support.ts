import type { Address } from 'viem'
import type { LensMode } from '../../../../src/chain/call/lens.ts'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import type { ChainRead, Position } from '../../../../src/family/aave_v3/read/position.ts'
import { createLendingReader } from '../../../../src/family/aave_v3/read/read.ts'
import type { AaveV3Deployment } from '../../../../src/family/aave_v3/table.ts'
import type { FinanceChain, FinanceClient } from '../../../../src/finance/chain.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import { BLOCK_AGE_SEC_MAX } from '../../../devnet/chain.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { withLensMode } from '../../../support/lens_mode.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'

/** The markets of the devnet as configuration describes them; the last one is a 3.0. */
export const DEPLOYMENTS: readonly AaveV3Deployment[] = Object.entries(MARKETS).map(([market, { provider }]) => ({
  market,
  poolAddressesProvider: provider,
  startBlock: 0,
}))

/** The devnet as configuration describes a chain; nothing is reused between reads. */
export function createChain(devnet: Devnet, overrides: Partial<FinanceChain> = {}): FinanceChain {
  return {
    id: devnet.chainId,
    name: 'Devnet',
    rpcUrls: [devnet.rpcUrl],
    reuseMs: 0,
    maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
    finality: { depth: 0 },
    prices: { usdFeeds: {}, stablecoins: [] },
    tokens: { addresses: [], names: [], added: [] },
    spamTokens: [],
    ...overrides,
  }
}

/** A client of the chain. */
export function createClient(chain: FinanceChain): FinanceClient {
  return createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
}

interface Asked {
  readonly deployments?: readonly AaveV3Deployment[]
  readonly mode?: LensMode
}

/** What wallets have on one chain. */
export async function readWallets(
  client: FinanceClient,
  wallets: readonly Address[],
  { deployments = DEPLOYMENTS, mode }: Asked = {},
): Promise<ChainRead> {
  const { id } = client.chain
  const reader = createLendingReader({
    clients: new Map([[id, withLensMode(client, mode)]]),
    deployments: new Map([[id, deployments]]),
    clock: slowClock,
  })
  const [read] = await reader.read(wallets, { targets: [...reader.targets.values()], work: patient })
  if (read === undefined) throw new Error('Cannot read the devnet')
  // Two readings of one block end at different times.
  const { untilMs: _, ...found } = read
  return found
}

/** What a wallet has in a market; fails if it has nothing. */
export function findPosition(
  read: ChainRead,
  place: { readonly wallet: Address; readonly market: MarketName },
): Position {
  const found = read.wallets
    .find(({ wallet }) => wallet === place.wallet)
    ?.positions.find(({ market }) => market === place.market)
  if (found === undefined) throw new Error(`Cannot find anything of ${place.wallet} in ${place.market}`)
  return found
}

/** Work that never ends. */
export const patient: Work = createWork(new AbortController().signal)

/** Clients of several chains that are all the same devnet, and what is asked of them. */
export interface CountedChains {
  readonly clients: ReadonlyMap<number, FinanceClient>
  /** Requests since the last `reset`, without those for the chain's id, which each endpoint answers only once. */
  count(): number
  /** The longest sequence of requests to one chain in which each had to wait for the one before. */
  depth(): number
  /** Most requests that were under way at the same time. */
  breadth(): number
  /** The endpoints of the chains in this set fail. */
  readonly down: Set<number>
  /** Lets all endpoints answer, and time pass after which one that failed is probed again. */
  recover(): void
  reset(): void
}

/** An endpoint that failed is probed once a second. */
const PROBE_INTERVAL_MS = 1_000

/** One devnet as so many chains: each client counts what it asks, and is told its own chain's id in the answers. */
export function countedChains(devnet: Devnet, ids: readonly number[]): CountedChains {
  const down = new Set<number>()
  const clock = createHurriedClock()
  let [asked, running, breadth] = [0, 0, 0]
  const depths = new Map<number, { begun: number; done: number }>()
  const clients = ids.map((id) => {
    const fetchAs = async (url: string, init: RequestInit): Promise<Response> => {
      const { method } = JSON.parse(String(init.body)) as { readonly method: string }
      if (down.has(id)) return new Response('down', { status: 503 })
      if (method === 'eth_chainId') return asChain(id, await fetch(url, init))
      const depth = depths.get(id) ?? { begun: 0, done: 0 }
      depths.set(id, depth)
      const mine = depth.done + 1
      depth.begun = Math.max(depth.begun, mine)
      asked++
      breadth = Math.max(breadth, ++running)
      try {
        return await asChain(id, await fetch(url, init))
      } finally {
        running--
        // Requests sent from now on may have waited for this one.
        depth.done = Math.max(depth.done, mine)
      }
    }
    const chain = createChain(devnet, { id, name: `Chain ${id}` })
    return createChainClient({ chain, clock, log: silentLog, fetch: fetchAs })
  })
  return {
    clients: new Map(clients.map((client) => [client.chain.id, client])),
    count: () => asked,
    depth: () => Math.max(0, ...[...depths.values()].map(({ begun }) => begun)),
    breadth: () => breadth,
    down,
    recover() {
      down.clear()
      clock.skip(PROBE_INTERVAL_MS)
    },
    reset() {
      if (running > 0) throw new Error('Cannot reset the count while requests are under way')
      asked = breadth = 0
      depths.clear()
    },
  }
}

/** The node's answer with another chain's id: as the answer itself, or at the head of the lens' answer or revert. */
async function asChain(id: number, response: Response): Promise<Response> {
  const hex = id.toString(16)
  const text = (await response.text())
    .replace('"result":"0x1"', `"result":"0x${hex}"`)
    .replace(/("0x(?:[0-9a-f]{62}01)?01)0{15}1/, `$1${hex.padStart(16, '0')}`)
  return new Response(text, { status: response.status, headers: { 'content-type': 'application/json' } })
}
