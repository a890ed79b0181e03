import { afterAll, beforeAll, beforeEach } from 'bun:test'
import { createEndpoint } from '../../src/chain/evm/endpoint.ts'
import type { Endpoint } from '../../src/chain/rpc/client.ts'
import { createHeadTracker } from '../../src/chain/rpc/endpoint_state.ts'
import { silentLog } from '../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../devnet/anvil.ts'
import { type FaultyRpc, startFaultyRpc } from './rpc.ts'
import { slowClock } from './test_clock.ts'

/** The chain of a test file and the endpoint in front of it. */
export interface FaultyChain {
  readonly anvil: Anvil
  readonly rpc: FaultyRpc
  /** Made anew for each test. */
  readonly endpoint: Endpoint
}

/** Runs an empty chain behind an endpoint with faults for one test file; each test begins without faults. */
export function useFaultyChain(): FaultyChain {
  let anvil: Anvil
  let rpc: FaultyRpc
  let endpoint: Endpoint
  beforeAll(async () => {
    anvil = await startAnvil()
    rpc = await startFaultyRpc(anvil.rpcUrl)
  }, 60_000)
  beforeEach(() => {
    rpc.rule(() => undefined)
    rpc.reset()
    endpoint = endpointAt(rpc.url)
  })
  afterAll(async () => {
    await rpc?.stop()
    await anvil?.stop()
  }, 60_000)
  return {
    get anvil() {
      return anvil
    },
    get rpc() {
      return rpc
    },
    get endpoint() {
      return endpoint
    },
  }
}

function endpointAt(url: string): Endpoint {
  const chain = {
    id: 1,
    name: 'Ethereum',
    rpcUrls: [url],
    reuseMs: 0,
    finality: { depth: 0 },
  }
  const clock = slowClock
  const heads = createHeadTracker({ clock })
  return createEndpoint(0, { chain, timeoutMs: 5_000, heads, clock, log: silentLog, fetch, random: () => 0 })
}
