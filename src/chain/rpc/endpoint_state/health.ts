import type { Clock } from '../../../lib/clock.ts'

/** After this many failures in a row only one caller at a time tries an endpoint. */
const FAILURES_TO_OPEN = 3
const COOL_DOWN_MS_MIN = 250
const COOL_DOWN_MS_MAX = 30_000
/** Pause after a rate limit without `Retry-After`; doubled if the endpoint limits the next request after it as well. */
const BUSY_MS_MIN = 100
const BUSY_MS_MAX = 2_000
/** Weight of the newest sample in the moving average of latency. */
const LATENCY_WEIGHT = 0.2
/**
 * Endpoints are compared by the quickest answer of this time or of the one before: how long the slowest ones take says
 * what was asked, and whoever asks for what takes long must not decide where the others ask.
 */
const QUICKEST_MS = 15_000
/** Endpoints count as equally fast within a factor of two; below this all count as equally fast. */
const LATENCY_MS_FLOOR = 100

/** `ready` serves; `doubtful` failed lately; `open` failed repeatedly and gets one try at a time. */
export type HealthState = 'ready' | 'doubtful' | 'open'

/** What is known about one endpoint's behaviour. Times are monotonic milliseconds. */
export type Health = ReturnType<typeof createHealth>

/** Starts as healthy. `random` gives numbers in [0, 1). */
export function createHealth({ clock, random }: { readonly clock: Clock; readonly random: () => number }) {
  let failures = 0
  let errors = 0
  let probeAtMs = 0
  let busyUntilMs = 0
  let pausesInARow = 0
  let latencyMs: number | undefined
  /** The quickest answer of two times, the second of which goes on, and when that one began. */
  let quickestMs = { before: Number.POSITIVE_INFINITY, now: Number.POSITIVE_INFINITY, sinceMs: 0 }

  return {
    state: (): HealthState => (failures === 0 ? 'ready' : failures < FAILURES_TO_OPEN ? 'doubtful' : 'open'),
    /** Milliseconds until the endpoint's own rate limit allows the next request; 0 if no limit is in force. */
    busyMs: () => Math.max(0, busyUntilMs - clock.monotonicMs()),
    /** True if a failed endpoint has had its pause and may be probed. */
    probeDue: () => failures > 0 && clock.monotonicMs() >= probeAtMs,
    /** Moving average of its latency; undefined before the first answer. */
    latencyMs: () => latencyMs,
    /** Requests that it answered with nothing usable, or not at all, so far; what it refuses is not among them. */
    errors: () => errors,
    /** Notes one of those. */
    erred(): void {
      errors++
    },
    /** 0 if fast or unknown, one more for each doubling of latency, so that small differences do not change the order. */
    latencyClass(): number {
      const { before, now } = quickestMs
      const ms = Math.min(before, now)
      return Number.isFinite(ms) ? Math.max(0, Math.ceil(Math.log2(ms / LATENCY_MS_FLOOR))) : 0
    },
    succeeded(): void {
      failures = 0
    },
    /** Each failure in a row doubles the pause before the endpoint is probed, spread by up to a half. */
    failed(): void {
      const pauseMs = Math.min(COOL_DOWN_MS_MAX, COOL_DOWN_MS_MIN * 2 ** Math.min(failures, 10))
      probeAtMs = clock.monotonicMs() + pauseMs * (0.5 + random() / 2)
      failures++
    },
    /** The endpoint asks for a pause; undefined if it does not say of how long. */
    limited(retryAfterMs: number | undefined): void {
      const nowMs = clock.monotonicMs()
      if (retryAfterMs !== undefined) busyUntilMs = Math.max(busyUntilMs, nowMs + retryAfterMs)
      // Those that were asked at once are refused one by one, which is one limit.
      else if (nowMs >= busyUntilMs) busyUntilMs = nowMs + Math.min(BUSY_MS_MAX, BUSY_MS_MIN * 2 ** pausesInARow++)
    },
    /** Notes the latency of one call that was answered. */
    measured(sampleMs: number): void {
      const nowMs = clock.monotonicMs()
      // An answer to what was asked before the endpoint said so does not end its pause.
      if (nowMs >= busyUntilMs) pausesInARow = 0
      const { before, now, sinceMs } = quickestMs
      quickestMs =
        nowMs - sinceMs < QUICKEST_MS
          ? { before, now: Math.min(now, sampleMs), sinceMs }
          : { before: now, now: sampleMs, sinceMs: nowMs }
      latencyMs = latencyMs === undefined ? sampleMs : latencyMs + LATENCY_WEIGHT * (sampleMs - latencyMs)
    },
  }
}

const GOLDEN_RATIO = 0.618_033_988_749_895

/**
 * Numbers in [0, 1) that spread evenly (multiples of the golden ratio), starting from any `seed`: they keep the pauses
 * of several endpoints and processes apart. The same seed gives the same numbers.
 */
export function createJitterSequence(seed: number): () => number {
  let value = (Math.abs(seed) * GOLDEN_RATIO) % 1
  return () => {
    value = (value + GOLDEN_RATIO) % 1
    return value
  }
}
