import type { Clock } from '../clock.ts'

/** Waits until the next start is allowed. Throws `AbortedError` if `signal` fires first. */
export type RateLimiter = (signal: AbortSignal) => Promise<void>

/** Creates a limiter that allows `perSecond` starts a second on average. */
export function createRateLimiter(options: {
  readonly perSecond: number
  /** Burst allowed after a pause, as the time that it takes at the rate. @default 1000 */
  readonly burstMs?: number
  readonly clock: Clock
}): RateLimiter {
  const { perSecond, burstMs = 1_000, clock } = options
  const stepMs = 1_000 / perSecond
  let nextMs = Number.NEGATIVE_INFINITY
  return async (signal) => {
    const nowMs = clock.monotonicMs()
    const atMs = Math.max(nextMs, nowMs - Math.max(0, burstMs - stepMs))
    nextMs = atMs + stepMs
    if (atMs > nowMs) await clock.sleep(atMs - nowMs, signal)
  }
}
