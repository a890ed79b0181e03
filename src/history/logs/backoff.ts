import type { Clock } from '../../lib/clock.ts'

/**
 * Pauses after a failure, a lagging answer, silence, false logs, and a refusal of all ranges. None is longer, however
 * often it recurs: an endpoint that is well again serves within 25 seconds, and one that is not costs a request in 20.
 */
const REST_MS = { failed: 5_000, behind: 2_000, silent: 20_000, false: 20_000, unable: 20_000 }
/** After this many consecutive failures, treat the endpoint as unable to serve logs. */
const FAILURES_MAX = 20

/** Creates the backoff of one endpoint; `onUnable` is called when the endpoint starts to count as unable. */
export function createBackoff(clock: Clock, onUnable: () => void) {
  let restUntilMs = 0
  let outUntilMs = Number.NEGATIVE_INFINITY
  let failuresInARow = 0

  function start(reason: keyof typeof REST_MS): void {
    const nowMs = clock.monotonicMs()
    if (reason === 'failed' && ++failuresInARow >= FAILURES_MAX) start('unable')
    if (reason === 'failed' || reason === 'behind') restUntilMs = Math.max(restUntilMs, nowMs + REST_MS[reason])
    else if (nowMs >= outUntilMs) outUntilMs = nowMs + REST_MS[reason]
    if (reason === 'unable') onUnable()
  }

  return {
    /** True during the pause after a failure. */
    get isResting(): boolean {
      return clock.monotonicMs() < restUntilMs
    },
    /** True while the endpoint counts as silent, unable or false. */
    get isExcluded(): boolean {
      return clock.monotonicMs() < outUntilMs
    },
    start,
    recordSuccess(): void {
      failuresInARow = 0
    },
  }
}
