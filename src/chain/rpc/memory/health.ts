import type { Clock } from '../../../lib/clock.ts'

/** After this many failures in a row only one caller at a time tries an endpoint. */
const FAILURES_TO_OPEN = 3
const COOL_DOWN_MS_MIN = 250
const COOL_DOWN_MS_MAX = 30_000
/** Pause after a rate limit without `Retry-After`. */
const BUSY_MS = 1_000
/** Weight of the newest sample in the moving average of latency. */
const LATENCY_WEIGHT = 0.2
/** Endpoints count as equally fast within a factor of two; below this all count as equally fast. */
const LATENCY_MS_FLOOR = 100

/** `ready` serves; `doubtful` failed lately; `open` failed repeatedly and gets one try at a time. */
export type HealthState = 'ready' | 'doubtful' | 'open'

/** What is known about one endpoint's behaviour. Times are monotonic milliseconds. */
export interface Health {
  state(): HealthState
  /** Milliseconds until the endpoint's own rate limit allows the next request; 0 if no limit is in force. */
  busyMs(): number
  /** True if a failed endpoint has had its pause and may be probed. */
  probeDue(): boolean
  /** 0 if fast or unknown, one more for each doubling of latency, so that small differences do not change the order. */
  latencyClass(): number
  /** Moving average of its latency; undefined before the first answer. */
  latencyMs(): number | undefined
  succeeded(): void
  /** Each failure in a row doubles the pause before the endpoint is probed, spread by up to a half. */
  failed(): void
  limited(retryAfterMs: number | undefined): void
  /** Adds the latency of one call to the average. */
  measured(latencyMs: number): void
}

/** Starts as healthy. `random` gives numbers in [0, 1). */
export function createHealth({ clock, random }: { readonly clock: Clock; readonly random: () => number }): Health {
  let failures = 0
  let probeAtMs = 0
  let busyUntilMs = 0
  let latencyMs: number | undefined

  return {
    state: () => (failures === 0 ? 'ready' : failures < FAILURES_TO_OPEN ? 'doubtful' : 'open'),
    busyMs: () => Math.max(0, busyUntilMs - clock.monotonicMs()),
    probeDue: () => failures > 0 && clock.monotonicMs() >= probeAtMs,
    latencyMs: () => latencyMs,
    latencyClass: () => Math.max(0, Math.ceil(Math.log2((latencyMs ?? 0) / LATENCY_MS_FLOOR))),
    succeeded() {
      failures = 0
      busyUntilMs = 0
    },
    failed() {
      const pauseMs = Math.min(COOL_DOWN_MS_MAX, COOL_DOWN_MS_MIN * 2 ** Math.min(failures, 10))
      probeAtMs = clock.monotonicMs() + pauseMs * (0.5 + random() / 2)
      failures++
    },
    limited(retryAfterMs = BUSY_MS) {
      busyUntilMs = clock.monotonicMs() + retryAfterMs
    },
    measured(sampleMs) {
      latencyMs = latencyMs === undefined ? sampleMs : latencyMs + LATENCY_WEIGHT * (sampleMs - latencyMs)
    },
  }
}

const GOLDEN_RATIO = 0.618_033_988_749_895

/**
 * Numbers in [0, 1) that spread evenly (multiples of the golden ratio), starting from any `seed`: they keep the pauses
 * of several endpoints and processes apart. The same seed gives the same numbers.
 */
export function createSpread(seed: number): () => number {
  let value = (Math.abs(seed) * GOLDEN_RATIO) % 1
  return () => {
    value = (value + GOLDEN_RATIO) % 1
    return value
  }
}
