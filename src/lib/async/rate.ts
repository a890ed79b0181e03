import type { Clock } from '../clock.ts'
import type { pause } from './abort.ts'

/** Waits until one more may start. Throws `AbortedError` if `signal` fires first. */
export type Rate = (signal: AbortSignal) => Promise<void>

/** What may start at once after a pause, as the time that it takes at the rate. */
const BURST_MS = 1_000

/** Lets at most `perSecond` start in a second over time; after a pause, those of one second at once. */
export function createRate(options: {
  readonly perSecond: number
  readonly clock: Clock
  readonly sleep: typeof pause
}): Rate {
  const { perSecond, clock, sleep } = options
  const stepMs = 1_000 / perSecond
  let nextMs = Number.NEGATIVE_INFINITY
  return async (signal) => {
    const nowMs = clock.monotonicMs()
    const atMs = Math.max(nextMs, nowMs - BURST_MS + stepMs)
    nextMs = atMs + stepMs
    if (atMs > nowMs) await sleep(atMs - nowMs, signal)
  }
}
