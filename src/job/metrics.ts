import type { Metrics } from '../lib/metrics.ts'
import type { JobOptions } from './job.ts'

/** Registers the metrics of jobs. */
export function createJobMetrics(metrics: Metrics): Required<Pick<JobOptions, 'ended'>> {
  const rounds = metrics.counter({
    name: 'walletscope_job_rounds_total',
    help: 'Rounds of work that nobody waits for, by job and outcome: done, or failed and tried again.',
    labels: ['job', 'outcome'],
  })
  return { ended: (name, outcome) => rounds(name, outcome).add(1) }
}
