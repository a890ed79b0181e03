import { UnavailableError } from '../lib/error.ts'

/** Work that nobody waits for, done in rounds, one at a time. */
export interface Job {
  /** In metrics: `log_retention`. */
  readonly name: string
  /**
   * One round. Gives the pause until the next one, milliseconds; undefined: as `everyMs` says. Throws to be tried again;
   * `signal` fires when the job is stopped.
   */
  round(signal: AbortSignal): Promise<number | undefined>
  /** Pause after a round, a little longer by chance, so that processes do not work in step; absent: until it is woken. */
  readonly everyMs?: number
  /** How long it waits when it is woken, so that one round does what has gathered, milliseconds. @default 0 */
  readonly gatherMs?: number
  /** Pause after a failure, milliseconds; it doubles with each further one. */
  readonly retryMs: { readonly least: number; readonly most: number }
  /** Told of each failure, but not that the database is away, which the log says once. */
  failed(error: unknown): void
}

/** A job that has been started. */
export type RunningJob = ReturnType<typeof startJob>

/** What jobs of one process share. */
export interface JobOptions {
  /** Told how each round ended. */
  readonly ended?: (name: string, outcome: 'done' | 'failed') => void
  /** From 0 to below 1. @default always 0 */
  readonly random?: () => number
}

/** The longest share by which chance lengthens the pause between rounds. */
const JITTER = 0.1

/** Starts a job with its first round. It does not keep the process alive. */
export function startJob(job: Job, { ended, random = () => 0 }: JobOptions = {}) {
  const { name, everyMs, gatherMs = 0, retryMs } = job
  const controller = new AbortController()
  const { signal } = controller
  let timer: ReturnType<typeof setTimeout> | undefined
  let state: 'pausing' | 'gathering' | 'running' | 'retrying' = 'pausing'
  let isWoken = false
  let failures = 0

  function begin(next: Exclude<typeof state, 'running'>, afterMs: number | undefined): void {
    clearTimeout(timer)
    if (signal.aborted) return
    state = next
    if (afterMs === undefined) return
    timer = setTimeout(() => void run(), afterMs)
    timer.unref()
  }

  /** Something is to be done: begins a round now, or as soon as a pause after a failure or the present round is over. */
  function wake(): void {
    isWoken = true
    if (state === 'pausing') begin('gathering', gatherMs)
  }

  async function run(): Promise<void> {
    state = 'running'
    isWoken = false
    try {
      const pauseMs = await job.round(signal)
      failures = 0
      ended?.(name, 'done')
      begin('pausing', pauseMs ?? (everyMs && everyMs * (1 + JITTER * random())))
      if (isWoken) wake()
    } catch (error) {
      if (signal.aborted) return
      ended?.(name, 'failed')
      if (!(error instanceof UnavailableError)) job.failed(error)
      begin('retrying', Math.min(retryMs.most, retryMs.least * 2 ** failures++))
    }
  }

  wake()
  return {
    wake,
    /** Begins nothing more. */
    stop(): void {
      controller.abort()
      clearTimeout(timer)
    },
  }
}
