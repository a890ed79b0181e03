import type { EvmClient } from '../../chain/evm/evm_client.ts'
import type { EndpointReport } from '../../chain/rpc/rotation/rotation.ts'
import { SOLANA_CHAIN_ID, type SolanaClient } from '../../chain/solana/client.ts'
import { createReadiness, type Probes } from '../../http/page/probes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ChainReport } from '../admin/report_routes.ts'
import { createStateDepths } from './state_depths.ts'

/** Creates a reader of whether chains answer, and of the state of each endpoint. */
export function createChainReports(
  { evm, solana }: { readonly evm: ReadonlyMap<number, EvmClient>; readonly solana: SolanaClient | undefined },
  { probes, clock }: { readonly probes: Probes['chains']; readonly clock: Clock },
): () => Promise<readonly ChainReport[]> {
  const readiness = createReadiness({ database: async () => true, chains: probes }, clock)
  const getStateDepth = createStateDepths(clock)

  function present(endpoints: readonly EndpointReport[], client: EvmClient | undefined): ChainReport['endpoints'] {
    const newest = endpoints.reduce(
      (max, { head }) => (head !== undefined && head.number > max ? head.number : max),
      0n,
    )
    return endpoints.map(({ state, latencyMs, busyMs, head, isBehind, errors }, index) => ({
      state,
      latency_ms: latencyMs === undefined ? null : Math.round(latencyMs),
      head_block: head === undefined ? null : Number(head.number),
      head_age_sec:
        head === undefined ? null : Math.max(0, Math.round(clock.now() / 1_000 - Number(head.timestampSec))),
      lag_blocks: head === undefined ? null : Number(newest - head.number),
      behind: isBehind,
      errors,
      state_depth:
        head === undefined || client === undefined ? null : getStateDepth(client, { index, head: head.number }),
      busy_ms: Math.ceil(busyMs),
    }))
  }

  return async () => {
    const { chains } = await readiness()
    const isReady = (id: number) => chains[id] === true
    const reports = [...evm.values()].map((client) => {
      const { id, name } = client.chain
      return { chain_id: id, name, ready: isReady(id), endpoints: present(client.report(), client) }
    })
    if (solana === undefined) return reports
    const endpoints = present(solana.report(), undefined)
    return [...reports, { chain_id: SOLANA_CHAIN_ID, name: 'Solana', ready: isReady(SOLANA_CHAIN_ID), endpoints }]
  }
}
