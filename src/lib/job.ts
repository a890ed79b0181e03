import type { Clock } from './clock.ts'
import { UnavailableError } from './error.ts'
import type { Metrics } from './metrics.ts'

/** A background job: rounds run one at a time. */
export interface Job {
  /** Name in metrics: `log_retention`. */
  readonly name: string
  /**
   * Runs one round. Returns the pause until the next one, milliseconds; undefined: `everyMs`. A round that throws is
   * retried. `signal` fires when the job is stopped.
   */
  round(signal: AbortSignal): Promise<number | undefined>
  /** Pause after a round, with jitter, so that processes do not work in step; absent: until the job is woken. */
  readonly everyMs?: number
  /** Delay after a wake-up, so that one round covers several of them, milliseconds. @default 0 */
  readonly gatherMs?: number
  /** Pause after a failure, milliseconds; it doubles with each consecutive one. */
  readonly retryMs: { readonly least: number; readonly most: number }
  /** Called with each failure except `UnavailableError`: an unreachable database is logged once, elsewhere. */
  onError(error: unknown): void
}

/** A job that has been started. */
export type RunningJob = ReturnType<typeof startJob>

/** Options shared by all jobs of a process. */
export interface JobOptions {
  readonly clock: Clock
  /** Called with the outcome of each round. */
  readonly onRoundEnd?: (name: string, outcome: 'done' | 'failed') => void
  /** Random number from 0 to below 1. @default always 0 */
  readonly random?: () => number
}

/** Maximum share by which jitter lengthens the pause between rounds. */
const JITTER = 0.1

/** Starts a job with its first round. The job does not keep the process alive. */
export function startJob(job: Job, { clock, onRoundEnd, random = () => 0 }: JobOptions) {
  const { name, everyMs, gatherMs = 0, retryMs } = job
  const controller = new AbortController()
  const { signal } = controller
  let cancelTimer = () => {}
  let state: 'pausing' | 'gathering' | 'running' | 'retrying' = 'pausing'
  let isWoken = false
  let failures = 0

  function schedule(next: Exclude<typeof state, 'running'>, afterMs: number | undefined): void {
    cancelTimer()
    if (signal.aborted) return
    state = next
    if (afterMs === undefined) return
    cancelTimer = clock.after(afterMs, () => void run(), { keepsAlive: false })
  }

  /** Starts a round now, or after the current round or the pause after a failure. */
  function wake(): void {
    isWoken = true
    if (state === 'pausing') schedule('gathering', gatherMs)
  }

  async function run(): Promise<void> {
    state = 'running'
    isWoken = false
    try {
      const pauseMs = await job.round(signal)
      failures = 0
      onRoundEnd?.(name, 'done')
      schedule('pausing', pauseMs ?? (everyMs && everyMs * (1 + JITTER * random())))
      if (isWoken) wake()
    } catch (error) {
      if (signal.aborted) return
      onRoundEnd?.(name, 'failed')
      if (!(error instanceof UnavailableError)) job.onError(error)
      schedule('retrying', Math.min(retryMs.most, retryMs.least * 2 ** failures++))
    }
  }

  wake()
  return {
    wake,
    /** Stops the job: no further round starts. */
    stop(): void {
      controller.abort()
      cancelTimer()
    },
  }
}

/** Registers the metrics of jobs. */
export function createJobMetrics(metrics: Metrics): Required<Pick<JobOptions, 'onRoundEnd'>> {
  const rounds = metrics.counter({
    name: 'walletscope_job_rounds_total',
    help: 'Rounds of background jobs, by job and outcome: done, or failed and retried.',
    labels: ['job', 'outcome'],
  })
  return { onRoundEnd: (name, outcome) => rounds(name, outcome).add(1) }
}
