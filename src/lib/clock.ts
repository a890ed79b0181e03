import { setTimeout as pause } from 'node:timers/promises'
import { AbortedError } from './error.ts'

/** The application's source of time and its only maker of timers; tests pass their own. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Monotonic milliseconds, for durations. */
  monotonicMs(): number
  /** Waits `ms`; throws `AbortedError` if `signal` fires first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `run` once, `ms` from now. Returns a function that cancels the call. */
  after(ms: number, run: () => void, options?: AfterOptions): () => void
  /** Returns a signal that fires `ms` from now with a `TimeoutError`. It does not keep the process alive. */
  timeout(ms: number): AbortSignal
}

interface AfterOptions {
  /** False: the timer does not keep the process alive. @default true */
  readonly keepsAlive?: boolean
}

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  async sleep(ms, signal) {
    await pause(wholeMs(ms), undefined, signal && { signal }).catch(() => {
      throw new AbortedError('The caller left')
    })
  },
  after(ms, run, { keepsAlive = true } = {}) {
    const timer = setTimeout(run, wholeMs(ms))
    if (!keepsAlive) timer.unref()
    return () => clearTimeout(timer)
  },
  timeout: (ms) => AbortSignal.timeout(wholeMs(ms)),
}

/** Calls `run` every `ms` until the returned function is called. */
export function repeat(clock: Clock, ms: number, run: () => void, options?: AfterOptions): () => void {
  let cancel = schedule()
  function schedule(): () => void {
    return clock.after(
      ms,
      () => {
        cancel = schedule()
        run()
      },
      options,
    )
  }
  return () => cancel()
}

/** Rounds up: Node rejects parts of a millisecond, and a timer must not fire early. */
function wholeMs(ms: number): number {
  return Math.max(0, Math.ceil(ms))
}
