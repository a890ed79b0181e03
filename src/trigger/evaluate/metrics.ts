import type { Metrics } from '../../lib/metrics.ts'
import type { TriggerPartition } from './partition.ts'

/** Records the evaluation of this process's partitions in metrics. */
export interface PartitionRecorder {
  recordBlock(
    partition: TriggerPartition,
    counts: { block: bigint; atMs: number; screened: number; confirmed: number; changes: number },
  ): void
  recordFailure(partition: TriggerPartition, family: string): void
  recordEnd(partition: TriggerPartition): void
}

/** Registers the metrics of evaluation. */
export function createPartitionMetrics(metrics: Metrics, nowMs: () => number): PartitionRecorder {
  const last = new Map<
    string,
    { readonly partition: TriggerPartition; readonly block: bigint; readonly atMs: number }
  >()
  const labels = ['chain_id', 'finality']
  const subjects = metrics.counter({
    name: 'walletscope_trigger_subjects_total',
    help: 'Subjects of triggers, by chain, finality and whether they were screened or confirmed.',
    labels: [...labels, 'how'],
  })
  const changes = metrics.counter({
    name: 'walletscope_trigger_changes_total',
    help: 'Messages about changes of triggers, by chain and finality.',
    labels,
  })
  const failures = metrics.counter({
    name: 'walletscope_trigger_failures_total',
    help: 'Blocks at which not all triggers of a family could be evaluated, by chain, finality and family.',
    labels: [...labels, 'family'],
  })
  metrics.gauges({
    name: 'walletscope_trigger_block',
    help: 'The block at which triggers were evaluated last, by chain and finality, where this process evaluates.',
    labels,
    aggregation: 'least',
    read: () =>
      [...last.values()].map(({ partition, block }) => [[partition.chainId, partition.finality], Number(block)]),
  })
  metrics.gauges({
    name: 'walletscope_trigger_block_age_seconds',
    help: 'How long ago triggers were evaluated, by chain and finality, where this process evaluates.',
    labels,
    aggregation: 'most',
    read: () =>
      [...last.values()].map(
        ({ partition, atMs }) => [[partition.chainId, partition.finality], (nowMs() - atMs) / 1_000] as const,
      ),
  })
  const getKey = ({ chainId, finality, shard }: TriggerPartition) => `${chainId} ${finality} ${shard}`
  return {
    recordBlock(partition, counts) {
      last.set(getKey(partition), { partition, block: counts.block, atMs: counts.atMs })
      subjects(partition.chainId, partition.finality, 'screened').add(counts.screened)
      subjects(partition.chainId, partition.finality, 'confirmed').add(counts.confirmed)
      changes(partition.chainId, partition.finality).add(counts.changes)
    },
    recordFailure: (partition, family) => failures(partition.chainId, partition.finality, family).add(1),
    recordEnd: (partition) => void last.delete(getKey(partition)),
  }
}
