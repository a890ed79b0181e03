import type { Clock } from '../../lib/clock.ts'

/** Rests after a failure, an endpoint that is behind, silence, a lie, and a refusal of everything. */
const REST_MS = { failed: 5_000, behind: 2_000, silent: 60_000, false: 600_000, unable: 600_000 }
/** One that fails so often in a row is as good as one that gives no logs. */
const FAILURES_MAX = 20

/** Starts without any; `onUnable` is told when the endpoint begins to count as unable. */
export function createBackoff(clock: Clock, onUnable: () => void) {
  let restUntilMs = 0
  let outUntilMs = 0
  let failuresInARow = 0

  function start(why: keyof typeof REST_MS): void {
    const untilMs = clock.monotonicMs() + REST_MS[why]
    if (why === 'failed' && ++failuresInARow >= FAILURES_MAX) start('unable')
    if (why === 'failed' || why === 'behind') restUntilMs = Math.max(restUntilMs, untilMs)
    else outUntilMs = Math.max(outUntilMs, untilMs)
    if (why === 'unable') onUnable()
  }

  return {
    /** True for the pause that follows a failure. */
    get isResting(): boolean {
      return clock.monotonicMs() < restUntilMs
    },
    /** True while it counts as unable, or as one that gives what is not so. */
    get isOut(): boolean {
      return clock.monotonicMs() < outUntilMs
    },
    start,
    succeeded(): void {
      failuresInARow = 0
    },
  }
}
