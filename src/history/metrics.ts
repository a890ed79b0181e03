import type { Metrics } from '../lib/metrics.ts'

/** How a request for logs ended, for the metrics. */
export type LogsOutcome = 'useful' | 'refused' | 'failed'

/** Records the work of histories in metrics. */
export type HistoryRecorder = ReturnType<typeof createHistoryMetrics>

/** Registers the metrics of history. */
export function createHistoryMetrics(metrics: Metrics) {
  const requests = metrics.counter({
    name: 'walletscope_history_requests_total',
    help: 'Requests for the logs of ranges of blocks, by chain and outcome.',
    labels: ['chain_id', 'outcome'],
  })
  const blocks = metrics.counter({
    name: 'walletscope_history_blocks_stored_total',
    help: 'Blocks whose history was stored, by chain; counted once per subject.',
    labels: ['chain_id'],
  })
  const healedLogs = metrics.counter({
    name: 'walletscope_history_logs_healed_total',
    help: 'Logs that one read of a range lacked and another gave, by chain.',
    labels: ['chain_id'],
  })
  return {
    recordRequest: (chainId: number, outcome: LogsOutcome) => requests(chainId, outcome).add(1),
    recordStored: (chainId: number, count: number) => blocks(chainId).add(count),
    recordHealed: (chainId: number, count: number) => healedLogs(chainId).add(count),
  }
}

/** Registers a gauge of the global histories in work; `listActive` is called when the metrics are read. */
export function createHistoryGauge(metrics: Metrics, listActive: () => readonly WorkingHistory[]): void {
  metrics.gauges({
    name: 'walletscope_history_blocks_left',
    help: 'Blocks that are left of a global history, by chain and stream, while it is read.',
    labels: ['chain_id', 'stream', 'contract'],
    aggregation: 'most',
    read: () =>
      listActive().map(({ chainId, stream, contract, blocksLeft }) => [[chainId, stream, contract], blocksLeft]),
  })
}

/** A global history that this process works on. */
export interface WorkingHistory {
  readonly chainId: number
  readonly stream: string
  readonly contract: string
  readonly blocksLeft: number
}
