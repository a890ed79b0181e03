import { createChainClient, type EvmClient } from '../chain/evm/evm_client.ts'
import type { DissentTracker } from '../chain/quorum/dissent_tracker.ts'
import { createQuorumClient } from '../chain/quorum/quorum_client.ts'
import { createRequestLimiter, PROCESS_LIMITS } from '../chain/rpc/limiter/limiter.ts'
import type { RpcRecorder } from '../chain/rpc/metrics.ts'
import { createSolanaClient, SOLANA_CHAIN_ID, type SolanaClient } from '../chain/solana/client.ts'
import type { FinanceChain } from '../finance/chain.ts'
import { delay } from '../lib/async/abort.ts'
import { createRateLimiter } from '../lib/async/rate_limiter.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'
import type { Config } from './config/config.ts'

/** One client per chain: EVM chains by id, and Solana if it is served. */
export interface Clients {
  readonly evm: ReadonlyMap<number, EvmClient<FinanceChain>>
  readonly solana: SolanaClient | undefined
  close(): void
}

/** Makes the clients of all chains that are served; `recorder` makes what is told of each chain's requests. */
export function createClients(
  { chains, solana: { rpcUrls, maxSlotAgeSec, slotMs }, historyRequestsPerSecond: perSecond }: Config,
  {
    recorder,
    dissents,
    processes = 1,
    ...given
  }: {
    readonly clock: Clock
    readonly log: Log
    readonly recorder: (chainId: number) => RpcRecorder
    /** Told if endpoints of a chain with a quorum differ. @default nobody is */
    readonly dissents?: Pick<DissentTracker, 'recorder'>
    /** How many processes serve as one: each has its share of what an endpoint is asked. @default 1 */
    readonly processes?: number
  },
): Clients {
  const shared = { ...given, processes, line: createRequestLimiter(PROCESS_LIMITS) }
  const evm = chains.map((chain) => {
    const backgroundRate =
      perSecond === 0
        ? undefined
        : createRateLimiter({ perSecond: perSecond / processes, clock: shared.clock, sleep: delay })
    const client = createChainClient({ chain, record: recorder(chain.id), backgroundRate, ...shared })
    const { quorum = 1 } = chain
    if (quorum === 1) return client
    return createQuorumClient(client, { quorum, dissent: dissents?.recorder(chain.id) ?? (() => {}) })
  })
  const solana =
    rpcUrls.length === 0
      ? undefined
      : createSolanaClient({
          rpcUrls,
          maxSlotAgeSec,
          slotMs,
          record: recorder(SOLANA_CHAIN_ID),
          ...shared,
        })
  return {
    evm: new Map(evm.map((client) => [client.chain.id, client])),
    solana,
    close() {
      for (const client of evm) client.close()
      solana?.close()
    },
  }
}
