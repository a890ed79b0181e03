import { createChainClient, type EvmClient } from '../chain/evm/evm_client.ts'
import type { DissentTracker } from '../chain/quorum/dissent_tracker.ts'
import { createQuorumClient } from '../chain/quorum/quorum_client.ts'
import { createWitnessedClient } from '../chain/quorum/witnessed_client.ts'
import { createRequestLimiter, PROCESS_LIMITS } from '../chain/rpc/limiter.ts'
import type { RpcRecorder } from '../chain/rpc/metrics.ts'
import { createSolanaClient, SOLANA_CHAIN_ID, type SolanaClient } from '../chain/solana/client.ts'
import type { Config } from '../config/config.ts'
import type { FinanceChain } from '../finance/chain.ts'
import { createRateLimiter } from '../lib/async/rate_limiter.ts'
import type { Clock } from '../lib/clock.ts'
import type { Log } from '../lib/log.ts'

/** One client per chain: EVM chains by id, and Solana if it is served. */
export interface Clients {
  readonly evm: ReadonlyMap<number, EvmClient<FinanceChain>>
  readonly solana: SolanaClient | undefined
  close(): void
}

/** Creates the clients of all served chains; `recorder` creates the metrics recorder of a chain's requests. */
export function createClients(
  { chains, solana: { rpcUrls, maxSlotAgeSec, slotMs }, historyRequestsPerSecond: perSecond }: Config,
  {
    recorder,
    dissents,
    processes = 1,
    ...options
  }: {
    readonly clock: Clock
    readonly log: Log
    readonly recorder: (chainId: number) => RpcRecorder
    /** Records endpoints of a chain with a quorum that disagree. @default not recorded */
    readonly dissents?: Pick<DissentTracker, 'recorder'>
    /** Number of worker processes: each uses its share of an endpoint's request limits. @default 1 */
    readonly processes?: number
  },
): Clients {
  const shared = { ...options, processes, sharedLimiter: createRequestLimiter(PROCESS_LIMITS) }
  const evm = chains.map((chain) => {
    const backgroundRate =
      perSecond === 0 ? undefined : createRateLimiter({ perSecond: perSecond / processes, clock: shared.clock })
    const client = createWitnessedClient(
      createChainClient({ chain, record: recorder(chain.id), backgroundRate, ...shared }),
    )
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
