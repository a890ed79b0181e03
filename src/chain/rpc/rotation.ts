import { type Deadline, untilAborted, withTimeout } from '../../lib/async/abort.ts'
import { createWork, type Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { ContractUnresponsiveError, type Endpoint, RpcRefusedError } from './client.ts'
import type { Health, HealthState } from './endpoint_state.ts'
import { EndpointError, hasFault } from './error.ts'

/** A read that succeeded this recently proves readiness. */
const READY_MS = 5_000

/** Faults after which the same endpoint is not tried again. */
const LASTING = ['far_head', 'unsupported', 'too_large'] as const

interface RotatingEndpoint extends Pick<Endpoint, 'index'> {
  readonly health: Health
  /** True once the endpoint must never be used again. */
  readonly removed?: boolean
}

/** State of an endpoint in this process. It is identified by index only: its URL may contain a secret. */
export interface EndpointReport {
  /** `removed`: the endpoint serves another chain and is never used again. */
  readonly state: HealthState | 'removed'
  /** Moving average; undefined before the first answer. */
  readonly latencyMs: number | undefined
  /** Milliseconds until its rate limit allows the next request; 0 if no limit is in force. */
  readonly busyMs: number
  /** Last seen newest block; undefined before the first, or if other endpoints contradict it. */
  readonly head: { readonly number: bigint; readonly timestampSec: bigint } | undefined
  /** True if other endpoints have shown later blocks. */
  readonly isBehind: boolean
  /** Failed requests so far, without refused ones. */
  readonly errors: number
}

/** An endpoint that does not answer. */
export interface UnresponsiveEndpoint {
  /** Number in the configuration, from 1. */
  readonly endpoint: number
  /** Reason of the failure, with this service's own messages. */
  readonly reason: string
}

/** Limits of one attempt at an endpoint. */
export interface AttemptLimits {
  readonly work: Work
  /** True if no other endpoint answers; a head far off the others' is then accepted. */
  readonly isLastResort: boolean
  /** True if every other endpoint was tried already. */
  readonly isAlone: boolean
  /** Milliseconds left for the request, over all attempts. */
  readonly remainingMs: () => number
}

export interface RotationFailure {
  readonly attempts: number
  /** Errors of the attempts, in order, and the error that prevented further attempts. */
  readonly errors: readonly unknown[]
  /** Milliseconds until the first endpoint may be tried again; 0 unless all endpoints are rate-limited. */
  readonly busyMs: number
}

/** Options of one request. */
interface Preference {
  /** Rank among equally healthy endpoints: the lowest first; undefined excludes the endpoint. */
  readonly getRank: (index: number) => number | undefined
  /** Creates the error if no endpoint answered. */
  readonly toError: (failure: RotationFailure) => Error
  /** False if failures do not affect health, so that they do not change the routing of callers. */
  readonly blames: boolean
}

/** Rotation policy of a kind of chain. */
export interface RotationPolicy {
  /** Attempts at one endpoint for one request. */
  readonly triesMax: number
  /** Attempts at all endpoints for one request. @default {Infinity} */
  readonly attemptsMax?: number
  /** Pause before an endpoint is retried, milliseconds; doubled each time, with a jitter of up to the same length. */
  readonly retryMs: number
  /** State from which an endpoint is logged as failed. */
  readonly lostState: 'doubtful' | 'open'
  /** Time from the start to the first routine probe of another endpoint, milliseconds. */
  readonly firstProbeMs: number
  /** True if a refused request counts against the endpoint's health. */
  readonly blamesRefusals: boolean
}

/** Health of the endpoints of one chain, and their background probes. */
export interface MonitoredEndpoints {
  /** Reports the state of each endpoint in configured order. */
  report(): readonly EndpointReport[]
  /** Endpoints that fail to return their latest block after two tries. A rate-limited endpoint counts as responding. */
  findUnresponsive(): Promise<readonly UnresponsiveEndpoint[]>
  /** Stops background work such as probes; reads end by their own signals. */
  close(): void
}

/** The endpoints of one chain and their rotation. */
interface RotationOptions<E extends RotatingEndpoint> {
  readonly endpoints: readonly E[]
  readonly chainId: number
  readonly policy: RotationPolicy
  /** True if other endpoints have shown later blocks than the one at this index. */
  readonly isBehind: (index: number) => boolean
  /** Returns the newest block of the endpoint at an index. */
  readonly getHead: (index: number) => EndpointReport['head']
  /** Probes an endpoint for its newest block and notes the result. */
  readonly probe: (endpoint: E, work: Work) => Promise<unknown>
  /** Creates the error of a request that no endpoint answered. */
  readonly toError: (failure: RotationFailure) => Error
  readonly clock: Clock
  readonly log: Log
  /** Numbers in [0, 1) that spread pauses. */
  readonly random: () => number
}

/**
 * Creates the rotation of one chain's endpoints. Each failure moves on to the next endpoint, and back to the first when
 * all have been tried. A failed endpoint ranks behind the others until a background probe succeeds; after repeated
 * failures it is used again only once a probe succeeds. Where no other endpoint is left, requests start such probes, each
 * endpoint's once a second, and wait for them for 300 ms: as long as nothing answers, they fail fast. While requests come
 * in, the other endpoints are probed periodically in turn, to find those that have stopped following the chain.
 */
export function createRotation<E extends RotatingEndpoint>(options: RotationOptions<E>) {
  const { endpoints, policy, isBehind, getHead, toError, clock, random } = options
  const { triesMax, attemptsMax = Number.POSITIVE_INFINITY, retryMs } = policy
  const noPreference: Preference = { getRank: () => 0, toError, blames: true }
  const monitor = createHealthMonitor(options)

  /**
   * Ranks the endpoints that are left by attempts so far, health, the request's preference, lag, latency and configured
   * order.
   */
  function rank(tries: ReadonlyMap<E, number>, { getRank }: Preference): readonly E[] {
    const ranked = endpoints
      .filter((endpoint) => endpoint.removed !== true && (tries.get(endpoint) ?? 0) < triesMax)
      .flatMap((endpoint) => {
        const { health, index } = endpoint
        const preference = getRank(index)
        if (preference === undefined) return []
        const state = health.busyMs() > 0 ? 3 : { ready: 0, doubtful: 1, open: 2 }[health.state()]
        const behind = isBehind(index) ? 1 : 0
        const rank = [tries.get(endpoint) ?? 0, state, preference, behind, health.getLatencyClass(), index]
        return [{ endpoint, rank }]
      })
    return ranked.sort((a, b) => compareRanks(a.rank, b.rank)).map(({ endpoint }) => endpoint)
  }

  /** True if an endpoint must not be asked before a probe succeeds. */
  function isDown({ health }: E, { blames }: Preference): boolean {
    // An endpoint without a recent head may have the past all the same, unless it answers nothing.
    return health.busyMs() === 0 && (blames ? health.state() === 'open' : health.isSilent())
  }

  /**
   * Tries the best endpoint, then the others, and each again after a pause, until one answers or the time is over.
   * Errors other than `UpstreamError` and `RpcRefusedError` pass through.
   */
  async function ask<T>(
    attempt: (endpoint: E, limits: AttemptLimits) => Promise<T>,
    deadline: Deadline,
    preference = noPreference,
  ): Promise<T> {
    const { work } = deadline
    const tries = new Map<E, number>()
    /** Endpoints whose newest block was far off the others'; tried again if no other endpoint answers. */
    const doubtedEndpoints: E[] = []
    const errors: unknown[] = []
    let attempts = 0
    let probes = 0
    for (;;) {
      const candidates = rank(tries, preference)
      const next = candidates[0]
      if (next !== undefined && isDown(next, preference) && !work.signal.aborted) {
        const downEndpoints = candidates.filter((each) => isDown(each, preference))
        for (const [each, error] of await monitor.awaitRecovery(downEndpoints, work.signal)) {
          tries.set(each, triesMax)
          errors.push(error)
          probes++
        }
        continue
      }
      const endpoint = next ?? doubtedEndpoints.shift()
      if (endpoint === undefined || attempts >= attemptsMax || work.signal.aborted) {
        const busyMs = Math.min(
          ...endpoints.filter(({ removed }) => removed !== true).map(({ health }) => health.busyMs()),
        )
        throw preference.toError({ attempts: attempts + probes, errors, busyMs })
      }
      const triesBefore = tries.get(endpoint) ?? 0
      tries.set(endpoint, triesBefore + 1)
      monitor.probeOthers(endpoint)
      const { health } = endpoint
      const pauseMs = triesBefore === 0 ? 0 : retryMs * 2 ** (triesBefore - 1) * (1 + random())
      const waitMs = Math.max(health.busyMs(), pauseMs)
      if (waitMs >= deadline.remainingMs()) {
        tries.set(endpoint, triesMax)
        if (triesBefore === 0) errors.push(new EndpointError('busy', 'Its pause outlasts the request'))
        continue
      }
      try {
        if (waitMs > 0) await clock.sleep(waitMs, work.signal)
        if (isDown(endpoint, preference)) {
          tries.set(endpoint, triesBefore)
          continue
        }
        attempts++
        const isAlone = endpoints.every((each) => each === endpoint || each.removed === true || tries.has(each))
        const limits = { work, isLastResort: next === undefined, isAlone, remainingMs: deadline.remainingMs }
        return await monitor.run(endpoint, () => attempt(endpoint, limits), {
          signal: work.signal,
          blames: preference.blames,
        })
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof RpcRefusedError) && !work.signal.aborted) throw error
        const isLasting = error instanceof RpcRefusedError || error instanceof ContractUnresponsiveError
        if (isLasting || hasFault(error, ...LASTING)) tries.set(endpoint, triesMax)
        if (hasFault(error, 'far_head')) doubtedEndpoints.push(endpoint)
        errors.push(error)
      }
    }
  }

  return {
    ask,
    /** True if an endpoint answered within the last seconds, or `read` succeeds now. */
    async ready(read: () => Promise<unknown>): Promise<boolean> {
      if (clock.monotonicMs() - monitor.succeededMs < READY_MS) return true
      try {
        await read()
        return true
      } catch {
        // Failures of endpoints are logged by the health monitor.
        return false
      }
    },
    report: () =>
      endpoints.map(
        ({ index, health, removed }): EndpointReport => ({
          state: removed ? 'removed' : health.state(),
          latencyMs: health.latencyMs(),
          busyMs: health.busyMs(),
          head: getHead(index),
          isBehind: isBehind(index),
          errors: health.errors(),
        }),
      ),
    findUnresponsive: monitor.findUnresponsive,
    close: monitor.close,
  }
}

/** Compares by the first number that differs; both lists have the same length. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((value, index) => value !== b[index])
  return index < 0 ? 0 : (a[index] ?? 0) - (b[index] ?? 0)
}

/** Longest wait of requests for a probe of a failed endpoint, from its start. */
const RECOVERY_MS = 300
/** Minimum time between the starts of two such probes of one endpoint. */
const RECOVERY_INTERVAL_MS = 1_000
/** Minimum time between two routine probes of endpoints other than the serving one. */
const PROBE_INTERVAL_MS = 10_000
/** Faults that do not affect an endpoint's health; callers choose requests whose answers are too large. */
const HEALTH_NEUTRAL = ['behind', 'unsupported', 'queue_full', 'far_head', 'slow', 'too_large'] as const

/** A probe of an endpoint; its error is undefined if the endpoint answers. */
interface Trial {
  readonly startedMs: number
  readonly error: Promise<unknown>
}

/** Creates a monitor that updates the health of one chain's endpoints from their answers, and probes them. */
function createHealthMonitor<E extends RotatingEndpoint>(options: RotationOptions<E>) {
  const { endpoints, chainId, policy, probe, clock, log } = options
  const background = new AbortController()
  const backgroundWork = createWork(background.signal)
  /** Running probes. */
  const trials = new Map<E, Trial>()
  /** Last probes that failed, since which no probe succeeded. */
  const failedTrials = new Map<E, Trial>()
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
    return (
      error instanceof UpstreamError &&
      !(error instanceof ContractUnresponsiveError || hasFault(error, ...HEALTH_NEUTRAL))
    )
  }

  function noteFailure({ health, index }: E, error: unknown, { isProbe = false } = {}): void {
    if (hasFault(error, 'busy')) health.recordRateLimit(error.retryAfterMs)
    if (hasFault(error, 'busy') || !isFailure(error) || countedErrors.has(error)) return
    countedErrors.add(error)
    const wasLost = isLost(health.state())
    // Its probe decides whether an endpoint is slow or was asked for much.
    health.recordFailure({ isProof: isProbe && hasFault(error, 'late') })
    if (wasLost || !isLost(health.state())) return
    log.warn({ msg: 'An RPC endpoint failed', chainId, endpoint: index + 1, reason: formatReason(error) })
  }

  function startProbe(endpoint: E): Trial {
    const runProbe = async () => {
      try {
        await probe(endpoint, backgroundWork)
      } catch (error) {
        // An endpoint that is far behind still answers; the rotation decides whether to use it.
        if (!hasFault(error, 'far_head')) {
          failedTrials.set(endpoint, trial)
          if (!background.signal.aborted) noteFailure(endpoint, error, { isProbe: true })
          return error
        }
      }
      failedTrials.delete(endpoint)
      noteSuccess(endpoint)
      return undefined
    }
    const error = runProbe().finally(() => trials.delete(endpoint))
    const trial = { startedMs: clock.monotonicMs(), error }
    trials.set(endpoint, trial)
    return trial
  }

  const joinProbe = (endpoint: E): Trial => trials.get(endpoint) ?? startProbe(endpoint)

  /** Joins the running probe or starts one; resolves to its error, undefined if the endpoint answers. */
  const probeOnce = (endpoint: E): Promise<unknown> => joinProbe(endpoint).error

  /** Returns the error of an endpoint's newest probe, which starts now unless there was one in the last second. */
  async function findProbeError(endpoint: E): Promise<unknown> {
    const nowMs = clock.monotonicMs()
    const failedTrial = failedTrials.get(endpoint)
    if (failedTrial !== undefined && nowMs - failedTrial.startedMs < RECOVERY_INTERVAL_MS) return failedTrial.error
    const { startedMs, error } = joinProbe(endpoint)
    return await withTimeout(error, { ms: Math.max(0, startedMs + RECOVERY_MS - nowMs), clock }).catch(
      () => new EndpointError('late', `No answer within ${RECOVERY_MS} ms`),
    )
  }

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
        const isInconclusive = hasFault(error, 'late') && isFailure(error)
        // A timeout can make an endpoint at most doubtful; a probe of its head decides whether request or endpoint is
        // slow.
        if (!isInconclusive || endpoint.health.state() === 'ready') noteFailure(endpoint, error)
        if (isInconclusive) void probeOnce(endpoint)
        throw error
      }
    },
    /**
     * Waits until one of the endpoints answers a probe, for 300 ms from the start of the probes. Returns the errors of
     * those that failed to by then.
     */
    async awaitRecovery(downEndpoints: readonly E[], signal: AbortSignal): Promise<ReadonlyMap<E, unknown>> {
      const errors = new Map<E, unknown>()
      const recoveries = downEndpoints.map(async (endpoint) => {
        const error = await findProbeError(endpoint)
        if (error === undefined) return
        errors.set(endpoint, error)
        throw error
      })
      await untilAborted(Promise.any(recoveries), signal).catch(() => {})
      return new Map(errors)
    },
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
          // A busy endpoint is reachable.
          const isUnresponsive = error !== undefined && !hasFault(error, 'busy', 'queue_full')
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
