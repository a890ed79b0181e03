import { getAddress, isAddress } from 'viem/utils'
import type { EvmClient } from '../chain/evm/evm_client.ts'
import { readStateDepth } from '../chain/past/state_canary.ts'
import type { EndpointReport } from '../chain/rpc/rotation.ts'
import { SOLANA_CHAIN_ID, type SolanaClient } from '../chain/solana/client.ts'
import type { Database } from '../db/database.ts'
import { createCoverage, type StoredProgress } from '../history/coverage.ts'
import type { HistoryService } from '../history/mod.ts'
import { createReadiness, type HistoryProgress, type Probes } from '../http/page/probes.ts'
import { createWork } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'
import { groupBy } from '../lib/group_by.ts'
import { createLru } from '../lib/lru.ts'
import type { ChainReport, HistoryReport } from './report_routes.ts'

/** Creates a reader of how far histories are stored, by any process. */
export function createHistoryReports(db: Database): () => Promise<readonly HistoryReport[]> {
  // Reading takes no lease, so the holder is empty.
  const coverage = createCoverage(db, '')
  return async () =>
    (await coverage.listProgress()).map(({ target, stream, subjects, globalRanges, anchor, isStopped }) => ({
      chain_id: target.chainId,
      contract: isAddress(target.contract) ? getAddress(target.contract) : target.contract,
      stream,
      subjects,
      everybody: globalRanges.map(({ fromBlock, toBlock }) => ({ from_block: fromBlock, to_block: toBlock })),
      anchor_block: anchor ?? null,
      stopped: isStopped,
    }))
}

/** Reports the histories of chains to `/readyz`. Readiness does not depend on them: live answers need no history. */
export function historyProbe(
  history: Pick<HistoryService, 'listProgress' | 'getIssues'>,
): () => Promise<Readonly<Record<string, HistoryProgress>>> {
  return async () => {
    const byChain = groupBy(await history.listProgress(), ({ target }) => target.chainId)
    const troubles = history.getIssues()
    const chainIds = new Set([...byChain.keys(), ...troubles.keys()])
    return Object.fromEntries(
      [...chainIds].map((id) => [id, { ...toReport(byChain.get(id) ?? []), trouble: troubles.get(id) ?? null }]),
    )
  }
}

function toReport(stored: readonly StoredProgress[]): Omit<HistoryProgress, 'trouble'> {
  const requested = stored.reduce((sum, { requested: asked }) => sum + (asked?.blocks ?? 0), 0)
  const missing = stored.reduce((sum, { requested: asked }) => sum + (asked?.missing ?? 0), 0)
  return {
    stopped: stored.some(({ isStopped }) => isStopped),
    percent: requested === 0 ? null : Math.floor((100 * (requested - missing)) / requested),
  }
}

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

/** How long a depth is cached; `RETRY_MS` after a failed reading. */
const DEPTH_TTL_MS = 3_600_000
const RETRY_MS = 60_000
const READ_TIMEOUT_MS = 20_000
const ENDPOINTS_MAX = 4_096

interface CachedDepth {
  readonly depth: number | 'all' | null
  readonly untilMs: number
}

/**
 * Creates a cache of how far back endpoints keep state, measured as `doctor` does. It returns the cached depth at once,
 * null at first; readings run in the background and yield to requests of callers.
 */
function createStateDepths(clock: Clock) {
  const depths = createLru<CachedDepth>({ entriesMax: ENDPOINTS_MAX })

  async function readDepth(
    { background }: EvmClient,
    { index, head }: { index: number; head: bigint },
  ): Promise<CachedDepth> {
    const endpoint = background[index]
    if (endpoint?.usable !== true) return { depth: null, untilMs: clock.monotonicMs() + RETRY_MS }
    try {
      const depth = await readStateDepth(endpoint, head, createWork(clock.timeout(READ_TIMEOUT_MS)))
      return { depth: depth === 'all' ? depth : Number(depth), untilMs: clock.monotonicMs() + DEPTH_TTL_MS }
    } catch {
      return { depth: null, untilMs: clock.monotonicMs() + RETRY_MS }
    }
  }

  /** Returns the depth of the endpoint at position `index`, whose newest block is `head`. */
  return (client: EvmClient, position: { readonly index: number; readonly head: bigint }): number | 'all' | null => {
    const key = `${client.chain.id} ${position.index}`
    const cached = depths.get(key)
    if (cached !== undefined && cached.untilMs > clock.monotonicMs()) return cached.depth
    // Until the reading ends, keep the previous depth, and start no second reading.
    const depth = cached?.depth ?? null
    depths.set(key, { depth, untilMs: clock.monotonicMs() + 2 * READ_TIMEOUT_MS })
    void readDepth(client, position).then((each) => depths.set(key, each))
    return depth
  }
}
