import { UpstreamError } from '../../../lib/error.ts'
import { ContractUnresponsiveError, RpcRefusedError } from '../client.ts'
import { SlowRequestError } from '../connection.ts'
import { HeadMismatchError } from '../endpoint_state/heads.ts'
import type { HealthState } from '../endpoint_state/health.ts'
import { HealthNeutralError, RateLimitedError } from '../error.ts'
import { QueueFullError } from '../limiter/limiter.ts'
import { ResponseTimeoutError } from '../transport.ts'
import type { RotatingEndpoint, RotationOptions, UnresponsiveEndpoint } from './rotation.ts'

/** The shortest time between two routine probes of endpoints other than the one that serves. */
const LOOK_MS = 10_000
/** Errors that say nothing about an endpoint's health. */
const BLAMELESS = [
  HealthNeutralError,
  QueueFullError,
  HeadMismatchError,
  ContractUnresponsiveError,
  SlowRequestError,
] as const

/** Errors of an endpoint that is there. */
const ANSWERS = [RateLimitedError, QueueFullError] as const

/** Notes what the answers of one chain's endpoints say about their health, and probes them. */
export function createHealthMonitor<E extends RotatingEndpoint>(options: RotationOptions<E>) {
  const { endpoints, chainId, policy, look, clock, log } = options
  const background = new AbortController()
  /** Probes under way. */
  const trials = new Map<E, Promise<unknown>>()
  /** Failures that count already: callers may share a request, and then share its error. */
  const counted = new WeakSet<Error>()
  let succeededMs = Number.NEGATIVE_INFINITY
  let lookedMs = clock.monotonicMs() + policy.firstLookMs - LOOK_MS
  let looks = 0

  function isLost(state: HealthState): boolean {
    return state === 'open' || (state === 'doubtful' && policy.lostAt === 'doubtful')
  }

  function succeeded({ health, index }: E): void {
    const wasLost = isLost(health.state())
    health.succeeded()
    succeededMs = clock.monotonicMs()
    if (wasLost) log.info({ msg: 'Regained an RPC endpoint', chainId, endpoint: index + 1 })
  }

  function isFailure(error: unknown): error is Error {
    if (error instanceof RpcRefusedError) return policy.blamesRefusals
    return error instanceof UpstreamError && !BLAMELESS.some((kind) => error instanceof kind)
  }

  function failed({ health, index }: E, error: unknown): void {
    if (error instanceof RateLimitedError) health.limited(error.retryAfterMs)
    if (error instanceof RateLimitedError || !isFailure(error) || counted.has(error)) return
    counted.add(error)
    const wasLost = isLost(health.state())
    health.failed()
    if (wasLost || !isLost(health.state())) return
    log.warn({ msg: 'Lost an RPC endpoint', chainId, endpoint: index + 1, reason: reasonOf(error) })
  }

  function lookNow(endpoint: E): Promise<unknown> {
    const probe = async () => {
      try {
        await look(endpoint, background.signal)
      } catch (error) {
        // One that is far behind answers all the same; how far it may be used is another question.
        if (!(error instanceof HeadMismatchError)) {
          if (!background.signal.aborted) failed(endpoint, error)
          return error
        }
      }
      succeeded(endpoint)
      return undefined
    }
    const trial = probe().finally(() => trials.delete(endpoint))
    trials.set(endpoint, trial)
    return trial
  }

  /** The probe that is under way, or a new one: the error that it ends with, undefined if the endpoint answers. */
  const lookAt = (endpoint: E): Promise<unknown> => trials.get(endpoint) ?? lookNow(endpoint)

  return {
    /** Runs one attempt; with `blames` false nothing that goes wrong counts. Throws what it throws. */
    async run<T>(
      endpoint: E,
      attempt: () => Promise<T>,
      { signal, blames }: { readonly signal: AbortSignal; readonly blames: boolean },
    ): Promise<T> {
      try {
        const answer = await attempt()
        succeeded(endpoint)
        return answer
      } catch (error) {
        if (!blames || signal.aborted) throw error
        const isUnsure = error instanceof ResponseTimeoutError && isFailure(error)
        // A question that takes too long can make an endpoint doubtful, but no more: a header tells which of them it is.
        if (!isUnsure || endpoint.health.state() === 'ready') failed(endpoint, error)
        if (isUnsure) void lookAt(endpoint)
        throw error
      }
    },
    look: lookAt,
    /** Probes failed endpoints when their pause is over, and now and then another one, each in its turn. */
    lookAtOthers(chosen: E): void {
      const others = endpoints.filter((each) => each !== chosen && each.removed !== true && !trials.has(each))
      for (const endpoint of others) if (endpoint.health.probeDue()) void lookAt(endpoint)
      if (clock.monotonicMs() - lookedMs < LOOK_MS) return
      const able = others.filter(({ health }) => health.state() === 'ready' && health.busyMs() === 0)
      const other = able[looks % able.length]
      if (other === undefined) return
      looks++
      lookedMs = clock.monotonicMs()
      void lookAt(other)
    },
    async silent(): Promise<readonly UnresponsiveEndpoint[]> {
      const found = await Promise.all(
        endpoints.map(async (endpoint) => {
          const error = (await lookAt(endpoint)) && (await lookAt(endpoint))
          const isSilent = error !== undefined && !ANSWERS.some((kind) => error instanceof kind)
          return isSilent ? [{ endpoint: endpoint.index + 1, reason: reasonOf(error) }] : []
        }),
      )
      return background.signal.aborted ? [] : found.flat()
    },
    /** When any endpoint answered last, monotonic milliseconds. */
    get succeededMs(): number {
      return succeededMs
    },
    close: () => background.abort(),
  }
}

/** Why an endpoint was given up: what was wrong with its answer if that is known, always in our own words. */
function reasonOf(error: unknown): string {
  const cause = error instanceof UpstreamError ? error.cause : undefined
  return String(cause instanceof UpstreamError ? cause : error)
}
