import type { Metrics } from '../lib/metrics.ts'
import type { JobOptions } from './job.ts'

/** Registers the metrics of jobs. */
export function createJobMetrics(metrics: Metrics): Required<Pick<JobOptions, 'onRoundEnd'>> {
  const rounds = metrics.counter({
    name: 'walletscope_job_rounds_total',
    help: 'Rounds of background jobs, by job and outcome: done, or failed and retried.',
    labels: ['job', 'outcome'],
  })
  return { onRoundEnd: (name, outcome) => rounds(name, outcome).add(1) }
}
