import { delay } from '../../../lib/async/abort.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { RevertError } from '../client.ts'
import { MissingBlockError, MissingStateError, RateLimitedError } from '../error.ts'
import { QueueFullError } from '../limiter/limiter.ts'
import { ResponseTimeoutError, ResponseTooLargeError } from '../transport.ts'

/** Pause before a request is sent again, milliseconds; doubled each time and spread by as much again. */
const AGAIN_MS = 50
/** So often a request of a caller is sent again. */
const AGAIN_MAX = 4
/** Another try would end alike, or would take as long again. */
const LASTING = [
  QueueFullError,
  ResponseTimeoutError,
  ResponseTooLargeError,
  MissingBlockError,
  MissingStateError,
] as const

/**
 * Runs requests of one reading, each again if it alone failed: the reading goes on after one of several requests failed
 * or met a rate limit. A reading whose first request fails has nothing to lose and had better begin elsewhere, so that
 * one is not sent again, but for a rate limit where there is nowhere else. No pause is longer than the time that is left
 * for the reading.
 */
export function createRetrier(options: {
  readonly remainingMs: () => number
  /** Told of each rate limit, with the pause that the endpoint asks for. */
  readonly limited?: (retryAfterMs: number | undefined) => void
  /** Numbers in [0, 1) that spread pauses. */
  readonly random: () => number
  /** True if even the first request is sent again. @default {false} */
  readonly isBegun?: boolean
  /** True if no other endpoint is left to begin at. @default {false} */
  readonly isAlone?: boolean
  /** How often one request is sent again. @default {4} */
  readonly timesMax?: number
}) {
  const { remainingMs, limited = () => {}, random, timesMax = AGAIN_MAX } = options
  let { isBegun = false } = options
  const mayRepeat = (error: unknown) => isBegun || (options.isAlone === true && error instanceof RateLimitedError)
  return async <T>(request: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    for (let times = 0; ; times++) {
      try {
        const answer = await request()
        isBegun = true
        return answer
      } catch (error) {
        if (error instanceof RevertError) isBegun = true
        if (!mayRepeat(error) || times >= timesMax || !mayPass(error)) throw error
        const askedMs = error instanceof RateLimitedError ? (error.retryAfterMs ?? 0) : 0
        const pauseMs = Math.max(askedMs, AGAIN_MS * 2 ** times * (1 + random()))
        if (pauseMs >= remainingMs()) throw error
        if (error instanceof RateLimitedError) limited(error.retryAfterMs)
        await delay(pauseMs, signal)
      }
    }
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof UpstreamError && !LASTING.some((kind) => error instanceof kind)
}
