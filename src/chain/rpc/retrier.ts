import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { RevertError } from './client.ts'
import { hasFault } from './error.ts'

/** Pause before a retry, milliseconds; doubled each time, with a jitter of up to the same length. */
const AGAIN_MS = 50
/** Default number of retries. */
const AGAIN_MAX = 4
/** Errors that a retry cannot fix, or only after as long again. */
const LASTING = ['queue_full', 'late', 'too_large', 'no_block', 'no_state'] as const

/**
 * Creates a retrier for the requests of one read, so that one failed or rate-limited request does not end the read. The
 * first request is not retried, because the read can start on another endpoint without loss; only a rate limit is
 * retried if no other endpoint is left. No pause is longer than the time left for the read.
 */
export function createRetrier(options: {
  readonly clock: Clock
  readonly remainingMs: () => number
  /** Called for each rate limit, with the requested pause. */
  readonly onRateLimited?: (retryAfterMs: number | undefined) => void
  /** Numbers in [0, 1) that spread pauses. */
  readonly random: () => number
  /** True if even the first request is retried. @default {false} */
  readonly isBegun?: boolean
  /** True if no other endpoint is left to start at. @default {false} */
  readonly isAlone?: boolean
  /** Retries of one request. @default {4} */
  readonly retriesMax?: number
}) {
  const { clock, remainingMs, onRateLimited = () => {}, random, retriesMax = AGAIN_MAX } = options
  let { isBegun = false } = options
  const canRepeat = (error: unknown) => isBegun || (options.isAlone === true && hasFault(error, 'busy'))
  return async <T>(request: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    for (let retries = 0; ; retries++) {
      try {
        const answer = await request()
        isBegun = true
        return answer
      } catch (error) {
        if (error instanceof RevertError) isBegun = true
        if (!canRepeat(error) || retries >= retriesMax || !isTransient(error)) throw error
        const retryAfterMs = hasFault(error, 'busy') ? (error.retryAfterMs ?? 0) : 0
        const pauseMs = Math.max(retryAfterMs, AGAIN_MS * 2 ** retries * (1 + random()))
        if (pauseMs >= remainingMs()) throw error
        if (hasFault(error, 'busy')) onRateLimited(error.retryAfterMs)
        await clock.sleep(pauseMs, signal)
      }
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof UpstreamError && !hasFault(error, ...LASTING)
}
