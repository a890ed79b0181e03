import type { EvmClient } from '../../chain/rpc/evm.ts'
import { SOLANA_CHAIN_ID, type SolanaClient } from '../../chain/solana/client.ts'
import { createReadiness, type Probes } from '../../http/page/probes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ChainReport } from '../admin/chain_routes.ts'

/** Asks all chains whether they answer, and their clients how each endpoint does. */
export function createChainReports(
  { evm, solana }: { readonly evm: ReadonlyMap<number, EvmClient>; readonly solana: SolanaClient | undefined },
  { probes, clock }: { readonly probes: Probes['chains']; readonly clock: Clock },
): () => Promise<readonly ChainReport[]> {
  const readiness = createReadiness({ database: async () => true, chains: probes }, clock)
  return async () => {
    const { chains } = await readiness()
    const reports = [...evm.values()].map(({ chain, report }) => ({
      chainId: chain.id,
      name: chain.name,
      isReady: chains[chain.id] === true,
      endpoints: report(),
    }))
    if (solana === undefined) return reports
    const isReady = chains[SOLANA_CHAIN_ID] === true
    return [...reports, { chainId: SOLANA_CHAIN_ID, name: 'Solana', isReady, endpoints: solana.report() }]
  }
}
