import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'

/** Kind of dissent: the endpoint gave other bytes, or none when too few endpoints answered. */
type Dissent = 'contradicted' | 'absent'

/** Records a dissent of the endpoint at an index of the configuration, from 0. */
export type DissentRecorder = (endpoint: number, dissent: Dissent) => void

/** Recent dissents of endpoints on chains with a quorum. */
export type DissentTracker = ReturnType<typeof createDissentTracker>

/** How long a dissent is reported. */
const MEMORY_MS = 10 * 60_000

/** Creates an empty tracker and registers its metric. Logs each endpoint at most once in that time. */
export function createDissentTracker(options: { readonly metrics: Metrics; readonly clock: Clock; readonly log: Log }) {
  const { metrics, clock, log } = options
  const counter = metrics.counter({
    name: 'walletscope_rpc_quorum_dissents_total',
    help: 'Calls to which an endpoint gave other bytes than others, or none when too few did, by its place from 1.',
    labels: ['chain_id', 'endpoint', 'dissent'],
  })
  /** Time of the last dissent, by chain, kind and endpoint number. */
  const chains = new Map<number, Record<Dissent, Map<number, number>>>()

  return {
    recorder(chainId: number): DissentRecorder {
      const lastSeen = { contradicted: new Map<number, number>(), absent: new Map<number, number>() }
      chains.set(chainId, lastSeen)
      return (endpoint, dissent) => {
        counter(chainId, endpoint + 1, dissent).add(1)
        const nowMs = clock.monotonicMs()
        const previousMs = lastSeen[dissent].get(endpoint + 1)
        lastSeen[dissent].set(endpoint + 1, nowMs)
        if (previousMs !== undefined && nowMs - previousMs < MEMORY_MS) return
        log.warn({ msg: 'An RPC endpoint disagreed with the quorum', chainId, endpoint: endpoint + 1, dissent })
      }
    },
    /** Returns endpoint numbers, from 1, by chain id; only chains with a quorum. */
    report(): Readonly<Record<string, Readonly<Record<Dissent, readonly number[]>>>> {
      const since = clock.monotonicMs() - MEMORY_MS
      const listRecent = (lately: ReadonlyMap<number, number>) =>
        [...lately].flatMap(([endpoint, atMs]) => (atMs > since ? [endpoint] : [])).sort((a, b) => a - b)
      return Object.fromEntries(
        [...chains].map(([id, { contradicted, absent }]) => [
          String(id),
          { contradicted: listRecent(contradicted), absent: listRecent(absent) },
        ]),
      )
    },
  }
}
