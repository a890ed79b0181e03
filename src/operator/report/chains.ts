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
    const reports = [...evm.values()].map(({ chain: { id, name }, report }) => ({ id, name, endpoints: report() }))
    if (solana !== undefined) reports.push({ id: SOLANA_CHAIN_ID, name: 'Solana', endpoints: solana.report() })
    return reports.map(({ id, name, endpoints }) => ({
      chain_id: id,
      name,
      ready: chains[id] === true,
      endpoints: endpoints.map(({ state, latencyMs, busyMs }) => ({
        state,
        latency_ms: latencyMs === undefined ? null : Math.round(latencyMs),
        busy_ms: Math.ceil(busyMs),
      })),
    }))
  }
}
