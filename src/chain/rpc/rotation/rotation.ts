import { type Deadline, delay, untilAborted } from '../../../lib/async/abort.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { Log } from '../../../lib/log.ts'
import { ContractUnresponsiveError, type Endpoint, RpcRefusedError } from '../client.ts'
import { HeadMismatchError } from '../endpoint_state/heads.ts'
import type { Health, HealthState } from '../endpoint_state/health.ts'
import { UnsupportedRequestError } from '../error.ts'
import { createHealthMonitor } from './health_monitor.ts'

/** A read that succeeded this recently proves readiness. */
const READY_MS = 5_000

/** Whatever an endpoint answers so it would answer again. */
const LASTING = [RpcRefusedError, HeadMismatchError, UnsupportedRequestError, ContractUnresponsiveError] as const

export interface RotatingEndpoint extends Pick<Endpoint, 'index'> {
  readonly health: Health
  /** True once it must never be asked again. */
  readonly removed?: boolean
}

/** How an endpoint does, as this process sees it. It has no name but its place: its address may hold a secret. */
export interface EndpointReport {
  /** `removed` serves another chain and is never asked again. */
  readonly state: HealthState | 'removed'
  /** Moving average; undefined before the first answer. */
  readonly latencyMs: number | undefined
  /** Milliseconds until its own rate limit allows the next request; 0 if no limit is in force. */
  readonly busyMs: number
  /** Its newest block as it was last seen; undefined before, or if the others contradict it. */
  readonly head: { readonly number: bigint; readonly timestampSec: bigint } | undefined
  /** True if the others have shown later blocks than its own. */
  readonly isBehind: boolean
  /** Requests that failed, without those that it refused, so far. */
  readonly errors: number
}

/** An endpoint that does not answer. */
export interface UnresponsiveEndpoint {
  /** Its place in the configuration, from 1. */
  readonly endpoint: number
  /** What was wrong, in our own words. */
  readonly reason: string
}

/** What one request to the endpoint whose turn it is may take. */
export interface AttemptLimits {
  readonly signal: AbortSignal
  /** True if no other endpoint answers: a block far off theirs is then accepted. */
  readonly isLastResort: boolean
  /** True if every other endpoint was asked already. */
  readonly isAlone: boolean
  /** Milliseconds left for the question, over all its tries. */
  readonly remainingMs: () => number
}

export interface RotationFailure {
  readonly attempts: number
  /** The error of each attempt, in order, and what prevented further ones. */
  readonly errors: readonly unknown[]
  /** Milliseconds until the first endpoint may be asked again; 0 unless all of them have asked for a pause. */
  readonly busyMs: number
}

/** How one question differs from others. */
interface Preference {
  /** Rank among endpoints that are equally healthy: the lowest first, undefined not at all. */
  readonly rankOf: (index: number) => number | undefined
  /** The error if no endpoint answered. */
  readonly exhausted: (exhaustion: RotationFailure) => Error
  /** False if nothing that goes wrong counts against an endpoint: callers must not feel it. */
  readonly blames: boolean
}

/** How a kind of chain rotates. */
export interface RotationPolicy {
  /** Tries of one endpoint for one question. */
  readonly triesMax: number
  /** Tries of all endpoints for one question. @default {Infinity} */
  readonly attemptsMax?: number
  /** Pause before an endpoint is tried again, milliseconds; doubled each time and spread by as much again. */
  readonly againMs: number
  /** The state from which on an endpoint counts as lost in the log. */
  readonly lostAt: 'doubtful' | 'open'
  /** Time from the start before another endpoint is first probed, milliseconds. */
  readonly firstLookMs: number
  /** True if a refused request counts against the endpoint's health. */
  readonly blamesRefusals: boolean
}

/** What is known of the endpoints of one chain, and asked of them in the background. */
export interface MonitoredEndpoints {
  /** How each endpoint does, in the order of the configuration. */
  report(): readonly EndpointReport[]
  /** Asks each endpoint for its newest block, twice if need be: those that do not answer. One that asks for a pause does. */
  silent(): Promise<readonly UnresponsiveEndpoint[]>
  /** Stops work in the background, such as probes; reads end by their own signals. */
  close(): void
}

/** The endpoints of one chain and how they are asked. */
export interface RotationOptions<E extends RotatingEndpoint> {
  readonly endpoints: readonly E[]
  readonly chainId: number
  readonly policy: RotationPolicy
  /** True if others have shown later blocks than this one. */
  readonly isBehind: (index: number) => boolean
  /** The newest block that it has shown. */
  readonly headOf: (index: number) => EndpointReport['head']
  /** Probes an endpoint for its newest block; the function itself notes the result. */
  readonly look: (endpoint: E, signal: AbortSignal) => Promise<unknown>
  /** The error of a request that no endpoint answered. */
  readonly exhausted: (exhaustion: RotationFailure) => Error
  readonly clock: Clock
  readonly log: Log
  /** Numbers in [0, 1) that spread pauses. */
  readonly random: () => number
}

/**
 * Puts the endpoints of one chain in rotation. Each failure moves on to the next, and back to the first when all have
 * had a turn. An endpoint that failed waits behind the others until a probe in the background succeeds; one that failed
 * repeatedly is asked again only once a probe succeeds, which all callers wait for. While requests come in, the others
 * are probed now and then, each in its turn, to find endpoints that have stopped following the chain.
 */
export function createRotation<E extends RotatingEndpoint>(options: RotationOptions<E>) {
  const { endpoints, policy, isBehind, headOf, exhausted, clock, random } = options
  const { triesMax, attemptsMax = Number.POSITIVE_INFINITY, againMs } = policy
  const noPreference: Preference = { rankOf: () => 0, exhausted, blames: true }
  const watch = createHealthMonitor(options)

  /**
   * The next endpoint to try: the least tried for this question first, then by health, as the question prefers, one
   * that is not behind, the quicker one, and as configured. Undefined when all have had their tries.
   */
  function pick(tries: ReadonlyMap<E, number>, { rankOf }: Preference): E | undefined {
    const ranked = endpoints
      .filter((endpoint) => endpoint.removed !== true && (tries.get(endpoint) ?? 0) < triesMax)
      .flatMap((endpoint) => {
        const { health, index } = endpoint
        const preference = rankOf(index)
        if (preference === undefined) return []
        const state = health.busyMs() > 0 ? 3 : { ready: 0, doubtful: 1, open: 2 }[health.state()]
        const behind = isBehind(index) ? 1 : 0
        const rank = [tries.get(endpoint) ?? 0, state, preference, behind, health.latencyClass(), index]
        return [{ endpoint, rank }]
      })
    return ranked.sort((a, b) => compareRanks(a.rank, b.rank))[0]?.endpoint
  }

  /**
   * Asks the best endpoint, then the others, and each again after a pause, until one answers or the time is over.
   * Errors other than `UpstreamError` and `RpcRefusedError` pass through.
   */
  async function ask<T>(
    attempt: (endpoint: E, limits: AttemptLimits) => Promise<T>,
    deadline: Deadline,
    preference = noPreference,
  ): Promise<T> {
    const { signal } = deadline
    const tries = new Map<E, number>()
    /** Those whose newest block was far off the others'; asked again if no other endpoint answers. */
    const doubted: E[] = []
    const errors: unknown[] = []
    let attempts = 0
    for (;;) {
      const next = pick(tries, preference)
      const endpoint = next ?? doubted.shift()
      if (endpoint === undefined || attempts >= attemptsMax || signal.aborted) {
        const busyMs = Math.min(
          ...endpoints.filter(({ removed }) => removed !== true).map(({ health }) => health.busyMs()),
        )
        throw preference.exhausted({ attempts, errors, busyMs })
      }
      const tried = tries.get(endpoint) ?? 0
      tries.set(endpoint, tried + 1)
      watch.lookAtOthers(endpoint)
      const { health } = endpoint
      const pauseMs = tried === 0 ? 0 : againMs * 2 ** (tried - 1) * (1 + random())
      const waitMs = Math.max(health.busyMs(), pauseMs)
      if (waitMs >= deadline.remainingMs()) {
        tries.set(endpoint, triesMax)
        continue
      }
      try {
        if (waitMs > 0) await delay(waitMs, signal)
        attempts++
        if (health.state() === 'open' && preference.blames) {
          const error = await untilAborted(watch.look(endpoint), signal)
          if (error !== undefined) throw error
        }
        const isAlone = endpoints.every((each) => each === endpoint || each.removed === true || tries.has(each))
        const limits = { signal, isLastResort: next === undefined, isAlone, remainingMs: deadline.remainingMs }
        return await watch.run(endpoint, () => attempt(endpoint, limits), { signal, blames: preference.blames })
      } catch (error) {
        if (!(error instanceof UpstreamError || error instanceof RpcRefusedError) && !signal.aborted) throw error
        if (LASTING.some((kind) => error instanceof kind)) tries.set(endpoint, triesMax)
        if (error instanceof HeadMismatchError) doubted.push(endpoint)
        errors.push(error)
      }
    }
  }

  return {
    ask,
    /** True if an endpoint has answered within the last seconds, or `read` does now. */
    async ready(read: () => Promise<unknown>): Promise<boolean> {
      if (clock.monotonicMs() - watch.succeededMs < READY_MS) return true
      try {
        await read()
        return true
      } catch {
        // The log says why if an endpoint was lost.
        return false
      }
    },
    report: () =>
      endpoints.map(
        ({ index, health, removed }): EndpointReport => ({
          state: removed ? 'removed' : health.state(),
          latencyMs: health.latencyMs(),
          busyMs: health.busyMs(),
          head: headOf(index),
          isBehind: isBehind(index),
          errors: health.errors(),
        }),
      ),
    silent: watch.silent,
    close: watch.close,
  }
}

/** Compares by the first number that differs; both have the same length. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}
