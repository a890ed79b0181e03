import type { Clock } from '../../lib/clock.ts'
import type { FailureTracker } from '../../lib/failure_tracker.ts'
import { LATENCY_BUCKETS_SEC, type Metrics } from '../../lib/metrics.ts'

const BATCH_BUCKETS: readonly number[] = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 2_048]

/** Registers the gate's metrics. */
export function createGateMetrics(
  metrics: Metrics,
  {
    clock,
    voider,
    trouble,
  }: {
    readonly clock: Clock
    readonly voider: { readonly waiting: number; readonly isDurable: boolean }
    readonly trouble: FailureTracker
  },
) {
  const sizes = metrics.histogram({
    name: 'walletscope_gate_batch_requests',
    help: 'Requests of one batch, by step: admit before the work, settle after it.',
    labels: ['step'],
    buckets: BATCH_BUCKETS,
  })
  const durations = metrics.histogram({
    name: 'walletscope_gate_batch_duration_seconds',
    help: 'Time that the database took for one batch, by step.',
    labels: ['step'],
    buckets: LATENCY_BUCKETS_SEC,
  })
  const failures = metrics.counter({
    name: 'walletscope_gate_batch_failures_total',
    help: 'Batches that the database did not decide, by step.',
    labels: ['step'],
  })
  metrics.gauge({
    name: 'walletscope_gate_voids_waiting',
    help: 'Settlements with an unknown outcome whose void waits for the database.',
    read: () => voider.waiting,
  })
  metrics.gauge({
    name: 'walletscope_gate_journal_durable',
    help: '1 while unknown outcomes are kept on the disk, 0 while they would be lost with this process.',
    aggregation: 'least',
    read: () => (voider.isDurable ? 1 : 0),
  })
  const refusalsUnlogged = metrics.counter({
    name: 'walletscope_gate_refusals_unlogged_total',
    help: 'Refused requests without a row in the log: those beyond a hundred of one organization in one second.',
  })()
  const lookupsRefused = metrics.counter({
    name: 'walletscope_gate_lookups_refused_total',
    help: 'Requests answered 503 because too many unknown keys were tried in that second.',
  })()

  /** Wraps a step's flush: counts its batches and reports its failures. */
  function withMetrics<Item, Result>(step: 'admit' | 'settle', flush: (items: readonly Item[]) => Promise<Result>) {
    const size = sizes(step)
    const duration = durations(step)
    const failed = failures(step)
    return async (items: readonly Item[]) => {
      const startedMs = clock.monotonicMs()
      size.observe(items.length)
      try {
        const results = await flush(items)
        trouble.recordSuccess(step)
        return results
      } catch (error) {
        failed.add(1)
        trouble.recordFailure(step, error)
        throw error
      } finally {
        duration.observe((clock.monotonicMs() - startedMs) / 1000)
      }
    }
  }
  return { observed: withMetrics, unlogged: refusalsUnlogged, turnedAway: lookupsRefused }
}
