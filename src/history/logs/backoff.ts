import type { Clock } from '../../lib/clock.ts'

/** Pauses after a failure, a lagging answer, silence, false logs, and a refusal of all ranges. */
const REST_MS = { failed: 5_000, behind: 2_000, silent: 60_000, false: 600_000, unable: 600_000 }
/** After this many consecutive failures, treat the endpoint as unable to serve logs. */
const FAILURES_MAX = 20

/** Creates the backoff of one endpoint; `onUnable` is called when the endpoint starts to count as unable. */
export function createBackoff(clock: Clock, onUnable: () => void) {
  let restUntilMs = 0
  let outUntilMs = 0
  let failuresInARow = 0

  function start(reason: keyof typeof REST_MS): void {
    const untilMs = clock.monotonicMs() + REST_MS[reason]
    if (reason === 'failed' && ++failuresInARow >= FAILURES_MAX) start('unable')
    if (reason === 'failed' || reason === 'behind') restUntilMs = Math.max(restUntilMs, untilMs)
    else outUntilMs = Math.max(outUntilMs, untilMs)
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
