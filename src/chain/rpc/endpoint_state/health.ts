import type { Clock } from '../../../lib/clock.ts'

/** After this many failures in a row only one caller at a time tries an endpoint. */
const FAILURES_TO_OPEN = 3
const COOL_DOWN_MS_MIN = 250
const COOL_DOWN_MS_MAX = 30_000
/** Pause after a rate limit without `Retry-After`; doubled if the next request is limited as well. */
const BUSY_MS_MIN = 100
const BUSY_MS_MAX = 2_000
/** Weight of the newest sample in the moving average of latency. */
const LATENCY_WEIGHT = 0.2
/**
 * Window of latency samples. Compare endpoints by their fastest recent response, of this window or the previous one:
 * slow responses measure the request, and heavy requests must not decide routing.
 */
const QUICKEST_MS = 15_000
/** Endpoints count as equally fast within a factor of two; below this all count as equally fast. */
const LATENCY_MS_FLOOR = 100

/** `ready` serves; `doubtful` failed lately; `open` failed repeatedly and gets one try at a time. */
export type HealthState = 'ready' | 'doubtful' | 'open'

/** Observed health of one endpoint. Times are monotonic milliseconds. */
export type Health = ReturnType<typeof createHealth>

/** Creates the state of a healthy endpoint. `random` gives numbers in [0, 1). */
export function createHealth({ clock, random }: { readonly clock: Clock; readonly random: () => number }) {
  let failures = 0
  let errors = 0
  let probeAtMs = 0
  let busyUntilMs = 0
  let pausesInARow = 0
  let latencyMs: number | undefined
  /** Fastest answer of the previous window and of the current one, and when the current one began. */
  let quickestMs = { before: Number.POSITIVE_INFINITY, now: Number.POSITIVE_INFINITY, sinceMs: 0 }

  return {
    state: (): HealthState => (failures === 0 ? 'ready' : failures < FAILURES_TO_OPEN ? 'doubtful' : 'open'),
    /** Milliseconds until the endpoint's rate limit allows the next request; 0 if no limit is in force. */
    busyMs: () => Math.max(0, busyUntilMs - clock.monotonicMs()),
    /** True if the pause of a failed endpoint is over, so that it may be probed. */
    isProbeDue: () => failures > 0 && clock.monotonicMs() >= probeAtMs,
    /** Moving average of the latency; undefined before the first answer. */
    latencyMs: () => latencyMs,
    /** Number of requests with an unusable answer or none so far; refusals do not count. */
    errors: () => errors,
    /** Counts one such request. */
    countError(): void {
      errors++
    },
    /**
     * Returns 0 if fast or unknown, plus one for each doubling of latency, so that small differences do not change
     * ranks.
     */
    getLatencyClass(): number {
      const { before, now } = quickestMs
      const ms = Math.min(before, now)
      return Number.isFinite(ms) ? Math.max(0, Math.ceil(Math.log2(ms / LATENCY_MS_FLOOR))) : 0
    },
    recordSuccess(): void {
      failures = 0
    },
    /** Records a failure. Each one in a row doubles the pause before the next probe, with a jitter of up to a half. */
    recordFailure(): void {
      const pauseMs = Math.min(COOL_DOWN_MS_MAX, COOL_DOWN_MS_MIN * 2 ** Math.min(failures, 10))
      probeAtMs = clock.monotonicMs() + pauseMs * (0.5 + random() / 2)
      failures++
    },
    /** Records a rate limit; `retryAfterMs` is undefined if the endpoint gives no duration. */
    recordRateLimit(retryAfterMs: number | undefined): void {
      const nowMs = clock.monotonicMs()
      if (retryAfterMs !== undefined) busyUntilMs = Math.max(busyUntilMs, nowMs + retryAfterMs)
      // Refusals of concurrent requests count as one rate limit.
      else if (nowMs >= busyUntilMs) busyUntilMs = nowMs + Math.min(BUSY_MS_MAX, BUSY_MS_MIN * 2 ** pausesInARow++)
    },
    /** Records the latency of an answered request. */
    recordLatency(sampleMs: number): void {
      const nowMs = clock.monotonicMs()
      // An answer to a request sent before the rate limit does not end the pause.
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
 * Creates a generator of evenly spread numbers in [0, 1) (multiples of the golden ratio), starting from any `seed`:
 * they keep the pauses of several endpoints and processes apart. The same seed gives the same numbers.
 */
export function createJitterSequence(seed: number): () => number {
  let value = (Math.abs(seed) * GOLDEN_RATIO) % 1
  return () => {
    value = (value + GOLDEN_RATIO) % 1
    return value
  }
}
