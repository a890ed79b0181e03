import { UpstreamError } from '../../../lib/error.ts'
import { ContractUnresponsiveError, RpcRefusedError } from '../client.ts'
import { SlowRequestError } from '../connection.ts'
import { HeadMismatchError } from '../endpoint_state/heads.ts'
import type { HealthState } from '../endpoint_state/health.ts'
import { HealthNeutralError, RateLimitedError } from '../error.ts'
import { QueueFullError } from '../limiter/limiter.ts'
import { ResponseTimeoutError } from '../transport.ts'
import { ResponseTooLargeError } from '../unpack.ts'
import type { RotatingEndpoint, RotationOptions, UnresponsiveEndpoint } from './rotation.ts'

/** Minimum time between two routine probes of endpoints other than the serving one. */
const PROBE_INTERVAL_MS = 10_000
/** Errors that do not affect an endpoint's health. */
const HEALTH_NEUTRAL = [
  HealthNeutralError,
  QueueFullError,
  HeadMismatchError,
  ContractUnresponsiveError,
  SlowRequestError,
  // The request asked for too much, and callers choose it.
  ResponseTooLargeError,
] as const

/** Errors of an endpoint that is reachable. */
const ANSWERS = [RateLimitedError, QueueFullError] as const

/** Creates a monitor that updates the health of one chain's endpoints from their answers, and probes them. */
export function createHealthMonitor<E extends RotatingEndpoint>(options: RotationOptions<E>) {
  const { endpoints, chainId, policy, probe, clock, log } = options
  const background = new AbortController()
  /** Running probes. */
  const trials = new Map<E, Promise<unknown>>()
  /** Errors counted already: callers that share a request share its error. */
  const countedErrors = new WeakSet<Error>()
  let succeededMs = Number.NEGATIVE_INFINITY
  let probedMs = clock.monotonicMs() + policy.firstProbeMs - PROBE_INTERVAL_MS
  let probes = 0

  function isLost(state: HealthState): boolean {
    return state === 'open' || (state === 'doubtful' && policy.lostState === 'doubtful')
  }

  function noteSuccess({ health, index }: E): void {
    const wasLost = isLost(health.state())
    health.recordSuccess()
    succeededMs = clock.monotonicMs()
    if (wasLost) log.info({ msg: 'An RPC endpoint recovered', chainId, endpoint: index + 1 })
  }

  function isFailure(error: unknown): error is Error {
    if (error instanceof RpcRefusedError) return policy.blamesRefusals
    return error instanceof UpstreamError && !HEALTH_NEUTRAL.some((kind) => error instanceof kind)
  }

  function noteFailure({ health, index }: E, error: unknown): void {
    if (error instanceof RateLimitedError) health.recordRateLimit(error.retryAfterMs)
    if (error instanceof RateLimitedError || !isFailure(error) || countedErrors.has(error)) return
    countedErrors.add(error)
    const wasLost = isLost(health.state())
    health.recordFailure()
    if (wasLost || !isLost(health.state())) return
    log.warn({ msg: 'An RPC endpoint failed', chainId, endpoint: index + 1, reason: formatReason(error) })
  }

  function startProbe(endpoint: E): Promise<unknown> {
    const runProbe = async () => {
      try {
        await probe(endpoint, background.signal)
      } catch (error) {
        // An endpoint that is far behind still answers; the rotation decides whether to use it.
        if (!(error instanceof HeadMismatchError)) {
          if (!background.signal.aborted) noteFailure(endpoint, error)
          return error
        }
      }
      noteSuccess(endpoint)
      return undefined
    }
    const trial = runProbe().finally(() => trials.delete(endpoint))
    trials.set(endpoint, trial)
    return trial
  }

  /** Joins the running probe or starts one; resolves to its error, undefined if the endpoint answers. */
  const probeOnce = (endpoint: E): Promise<unknown> => trials.get(endpoint) ?? startProbe(endpoint)

  return {
    /** Runs one attempt; with `blames` false its failure does not affect health. Throws as the attempt does. */
    async run<T>(
      endpoint: E,
      attempt: () => Promise<T>,
      { signal, blames }: { readonly signal: AbortSignal; readonly blames: boolean },
    ): Promise<T> {
      try {
        const answer = await attempt()
        noteSuccess(endpoint)
        return answer
      } catch (error) {
        if (!blames || signal.aborted) throw error
        const isInconclusive = error instanceof ResponseTimeoutError && isFailure(error)
        // A timeout can make an endpoint at most doubtful; a probe of its head decides whether request or endpoint is
        // slow.
        if (!isInconclusive || endpoint.health.state() === 'ready') noteFailure(endpoint, error)
        if (isInconclusive) void probeOnce(endpoint)
        throw error
      }
    },
    probe: probeOnce,
    /** Probes failed endpoints whose pause is over, and periodically one other endpoint in turn. */
    probeOthers(chosen: E): void {
      const otherEndpoints = endpoints.filter((each) => each !== chosen && each.removed !== true && !trials.has(each))
      for (const endpoint of otherEndpoints) if (endpoint.health.isProbeDue()) void probeOnce(endpoint)
      if (clock.monotonicMs() - probedMs < PROBE_INTERVAL_MS) return
      const available = otherEndpoints.filter(({ health }) => health.state() === 'ready' && health.busyMs() === 0)
      const other = available[probes % available.length]
      if (other === undefined) return
      probes++
      probedMs = clock.monotonicMs()
      void probeOnce(other)
    },
    async findUnresponsive(): Promise<readonly UnresponsiveEndpoint[]> {
      const results = await Promise.all(
        endpoints.map(async (endpoint) => {
          const error = (await probeOnce(endpoint)) && (await probeOnce(endpoint))
          const isUnresponsive = error !== undefined && !ANSWERS.some((kind) => error instanceof kind)
          return isUnresponsive ? [{ endpoint: endpoint.index + 1, reason: formatReason(error) }] : []
        }),
      )
      return background.signal.aborted ? [] : results.flat()
    },
    /** Time of the last answer of any endpoint, monotonic milliseconds. */
    get succeededMs(): number {
      return succeededMs
    },
    close: () => background.abort(),
  }
}

/** Formats why an endpoint failed: the cause if it is known, always with this service's own messages. */
function formatReason(error: unknown): string {
  const cause = error instanceof UpstreamError ? error.cause : undefined
  return String(cause instanceof UpstreamError ? cause : error)
}
