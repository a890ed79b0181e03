import type { Metrics } from '../../lib/metrics.ts'
import type { TriggerPartition } from './partition.ts'

/** What a line of this process is told to show. */
export interface PartitionRecorder {
  evaluated(
    line: TriggerPartition,
    of: { block: bigint; atMs: number; screened: number; confirmed: number; changes: number },
  ): void
  failed(line: TriggerPartition, family: string): void
  ended(line: TriggerPartition): void
}

/** Registers the metrics of evaluation. */
export function createPartitionMetrics(metrics: Metrics, nowMs: () => number): PartitionRecorder {
  const last = new Map<string, { readonly line: TriggerPartition; readonly block: bigint; readonly atMs: number }>()
  const labels = ['chain_id', 'finality']
  const subjects = metrics.counter({
    name: 'walletscope_trigger_subjects_total',
    help: 'Subjects of triggers by chain, finality and whether a screen was enough or they were confirmed.',
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
    together: 'least',
    read: () => [...last.values()].map(({ line, block }) => [[line.chainId, line.finality], Number(block)]),
  })
  metrics.gauges({
    name: 'walletscope_trigger_block_age_seconds',
    help: 'How long ago triggers were evaluated, by chain and finality, where this process evaluates.',
    labels,
    together: 'most',
    read: () =>
      [...last.values()].map(({ line, atMs }) => [[line.chainId, line.finality], (nowMs() - atMs) / 1_000] as const),
  })
  const keyOf = ({ chainId, finality, shard }: TriggerPartition) => `${chainId} ${finality} ${shard}`
  return {
    evaluated(line, of) {
      last.set(keyOf(line), { line, block: of.block, atMs: of.atMs })
      subjects(line.chainId, line.finality, 'screened').add(of.screened)
      subjects(line.chainId, line.finality, 'confirmed').add(of.confirmed)
      changes(line.chainId, line.finality).add(of.changes)
    },
    failed: (line, family) => failures(line.chainId, line.finality, family).add(1),
    ended: (line) => void last.delete(keyOf(line)),
  }
}
