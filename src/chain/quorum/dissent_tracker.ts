import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'

/** Why an endpoint was no help: it gave other bytes, or none when too few did. */
type Dissent = 'contradicted' | 'absent'

/** Told of each by the endpoint's place in the configuration, from 0. */
export type DissentRecorder = (endpoint: number, dissent: Dissent) => void

/** What endpoints did lately where several must give the same bytes. */
export type DissentTracker = ReturnType<typeof createDissentTracker>

/** How long it is told. */
const TOLD_MS = 10 * 60_000

/** Makes an empty memory, and registers its metric. The log is told of each endpoint once in that time. */
export function createDissentTracker(options: { readonly metrics: Metrics; readonly clock: Clock; readonly log: Log }) {
  const { metrics, clock, log } = options
  const counter = metrics.counter({
    name: 'walletscope_rpc_quorum_dissents_total',
    help: 'Calls to which an endpoint gave other bytes than others, or none when too few did, by its place from 1.',
    labels: ['chain_id', 'endpoint', 'dissent'],
  })
  /** When each endpoint last did, by chain, dissent and place. */
  const chains = new Map<number, Record<Dissent, Map<number, number>>>()

  return {
    recorder(chainId: number): DissentRecorder {
      const lately = { contradicted: new Map<number, number>(), absent: new Map<number, number>() }
      chains.set(chainId, lately)
      return (endpoint, dissent) => {
        counter(chainId, endpoint + 1, dissent).add(1)
        const nowMs = clock.monotonicMs()
        const before = lately[dissent].get(endpoint + 1)
        lately[dissent].set(endpoint + 1, nowMs)
        if (before !== undefined && nowMs - before < TOLD_MS) return
        log.warn({ msg: 'An RPC endpoint did not agree with others', chainId, endpoint: endpoint + 1, dissent })
      }
    },
    /** Places of endpoints by chain id; only chains with a quorum. */
    report(): Readonly<Record<string, Readonly<Record<Dissent, readonly number[]>>>> {
      const since = clock.monotonicMs() - TOLD_MS
      const placesIn = (lately: ReadonlyMap<number, number>) =>
        [...lately].flatMap(([place, atMs]) => (atMs > since ? [place] : [])).sort((a, b) => a - b)
      return Object.fromEntries(
        [...chains].map(([id, { contradicted, absent }]) => [
          String(id),
          { contradicted: placesIn(contradicted), absent: placesIn(absent) },
        ]),
      )
    },
  }
}
