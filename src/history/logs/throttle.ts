import { createRetrier } from '../../chain/rpc/retrier.ts'
import { createFairTurns } from '../../lib/async/fair_turns.ts'
import type { Clock } from '../../lib/clock.ts'
import type { LogSource } from './source.ts'

/** Concurrent requests of history to one endpoint; the endpoint's own queue still lets callers go first. */
const RUNNING_MAX = 8
/** Pause after a rate limit without `Retry-After`, doubled for each consecutive one. */
const PAUSE_MS = 200
const PAUSE_MS_MAX = 60_000

/**
 * Creates the throttle of one endpoint: limits concurrent requests of history, and pauses them after a rate limit.
 */
export function createThrottle(clock: Clock) {
  let limit = RUNNING_MAX
  let succeeded = 0
  let pauses = 0
  let untilMs = 0
  const turns = createFairTurns(() => limit)

  return {
    /** Runs a task in its turn, alternating requesters. Throws `AbortedError` if `signal` fires while it waits. */
    run<T>(
      task: () => Promise<T>,
      { signal, requester }: { readonly signal: AbortSignal; readonly requester?: string | undefined },
    ): Promise<T> {
      const runAfterPause = async (): Promise<T> => {
        const waitMs = untilMs - clock.monotonicMs()
        if (waitMs > 0) await clock.sleep(waitMs, signal)
        const result = await task()
        pauses = 0
        succeeded++
        if (succeeded >= 4 * limit && limit < RUNNING_MAX) {
          limit++
          succeeded = 0
        }
        return result
      }
      return turns.run(runAfterPause, { signal, requester })
    },
    /** Records a rate limit: halves the concurrent requests, and pauses before the next one. */
    recordRateLimit(pauseMs: number | undefined): void {
      // The requests that were under way are refused together, but count once.
      if (untilMs > clock.monotonicMs()) return
      pauses++
      limit = Math.max(1, Math.floor(limit / 2))
      succeeded = 0
      untilMs = clock.monotonicMs() + Math.min(PAUSE_MS_MAX, pauseMs ?? PAUSE_MS * 2 ** (pauses - 1))
    },
  }
}

/** Time limit of a small request over all attempts, milliseconds, and retries: callers wait for some of them. */
const ATTEMPTS_MS = 1_500
const AGAIN_MAX = 3

/** Creates a queue for small requests of one endpoint; a failed one is retried a few times. */
export function createSmallRequestQueue(options: {
  readonly source: LogSource
  readonly throttle: Pick<ReturnType<typeof createThrottle>, 'run'>
  readonly clock: Clock
}) {
  const { source, throttle, clock } = options
  return <T>(task: (source: LogSource) => Promise<T>, signal: AbortSignal): Promise<T> => {
    const untilMs = clock.monotonicMs() + ATTEMPTS_MS
    const remainingMs = () => untilMs - clock.monotonicMs()
    const retry = createRetrier({ clock, remainingMs, isBegun: true, retriesMax: AGAIN_MAX, random: () => 0 })
    return retry(() => throttle.run(() => task(source), { signal }), signal)
  }
}
