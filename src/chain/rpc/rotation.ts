import { pause, untilAborted } from '../../lib/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { RpcRefusedError } from './client.ts'
import type { Deadline } from './deadline.ts'
import { BusyError } from './error.ts'
import { HeadError } from './heads.ts'
import type { Health, HealthState } from './health.ts'
import { CrowdedError } from './slots.ts'

/** How often, at most, another endpoint than the one that serves is asked how far it is. */
const LOOK_MS = 10_000
/** A read that succeeded this recently proves readiness. */
const READY_MS = 5_000

/** An endpoint that takes its turns. */
export interface RotatingEndpoint {
  /** Position in the configuration, for logs; the URL is a secret. */
  readonly index: number
  readonly health: Health
  /** True once it is never asked again. */
  readonly removed?: boolean
}

/** One question to whichever endpoint has its turn. */
export type Attempt<E, T> = (endpoint: E, limits: AttemptLimits) => Promise<T>

/** What one attempt is granted. */
export interface AttemptLimits {
  readonly signal: AbortSignal
  /** No other endpoint answers: how far this one is beside them makes no difference. */
  readonly isLastResort: boolean
}

/** Why nobody answered. */
export interface Exhaustion {
  readonly attempts: number
  /** What each attempt failed with, in their order, and what was in the way of further ones. */
  readonly errors: readonly unknown[]
  /** Milliseconds until the first endpoint may be asked again; 0 unless all of them have asked for a pause. */
  readonly busyMs: number
}

/** How a kind of chain rotates. */
export interface RotationPolicy {
  /** Tries of one endpoint for one question. */
  readonly triesMax: number
  /** Tries of all endpoints for one question. @default {Infinity} */
  readonly attemptsMax?: number
  /** Pause before an endpoint is tried again, milliseconds; doubled each time and spread by as much again. */
  readonly againMs: number
  /** From which state on an endpoint counts as lost in the log. */
  readonly lostAt: 'doubtful' | 'open'
  /** How long after the start the first look at another endpoint may be, milliseconds. */
  readonly firstLookMs: number
  /** True if refusing a question is held against an endpoint. */
  readonly blamesRefusals: boolean
}

/** The endpoints of one chain in rotation. */
export interface Rotation<E extends RotatingEndpoint> {
  /**
   * Asks the endpoint that is best placed, then others, and each again after a pause, until one answers or the time is
   * over. Errors that are neither `UpstreamError` nor `RpcRefusedError` pass through.
   */
  ask<T>(attempt: Attempt<E, T>, deadline: Deadline): Promise<T>
  /** True if an endpoint has answered within the last seconds, or `read` does now. */
  ready(read: () => Promise<unknown>): Promise<boolean>
  /** Stops what goes on in the background. */
  close(): void
}

/**
 * Puts the endpoints of one chain in rotation. Each failure moves on to the next, and back to the first when all have
 * had a turn. An endpoint that failed waits behind the others until a look in the background succeeds; one that failed
 * repeatedly is tried by one caller at a time. While questions come in, the others are looked at now and then, each in
 * its turn, so that an endpoint that stands still is found out.
 */
export function createRotation<E extends RotatingEndpoint>(options: {
  readonly endpoints: readonly E[]
  readonly chainId: number
  readonly policy: RotationPolicy
  /** True if others have shown to be further than this one. */
  readonly isBehind: (index: number) => boolean
  /** Asks an endpoint how far it is; what it shows is noted by whoever made this. */
  readonly look: (endpoint: E, signal: AbortSignal) => Promise<unknown>
  /** The error of a question that nobody answered. */
  readonly exhausted: (exhaustion: Exhaustion) => Error
  readonly clock: Clock
  readonly log: Log
  /** Numbers in [0, 1) that spread pauses. */
  readonly random: () => number
}): Rotation<E> {
  const { endpoints, chainId, policy, isBehind, look, exhausted, clock, log, random } = options
  const { triesMax, attemptsMax = Number.POSITIVE_INFINITY, againMs, lostAt } = policy
  const background = new AbortController()
  /** Looks, and the single try that an endpoint in state `open` is given. */
  const trials = new Map<E, Promise<unknown>>()
  let succeededMs = Number.NEGATIVE_INFINITY
  let lookedMs = clock.monotonicMs() + policy.firstLookMs - LOOK_MS
  let looks = 0

  function isLost(state: HealthState): boolean {
    return state === 'open' || (state === 'doubtful' && lostAt === 'doubtful')
  }

  function isFailure(error: unknown): boolean {
    if (error instanceof RpcRefusedError) return policy.blamesRefusals
    return error instanceof UpstreamError && !(error instanceof CrowdedError) && !(error instanceof HeadError)
  }

  async function attemptOn<T>(endpoint: E, run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { health, index } = endpoint
    const before = health.state()
    try {
      const answer = await run()
      health.succeeded()
      succeededMs = clock.monotonicMs()
      if (isLost(before)) log.info({ msg: 'Regained an RPC endpoint', chainId, endpoint: index })
      return answer
    } catch (error) {
      if (error instanceof BusyError) health.limited(error.retryAfterMs)
      else if (isFailure(error) && !signal.aborted) health.failed()
      if (!isLost(before) && isLost(health.state())) {
        log.warn({ msg: 'Lost an RPC endpoint', chainId, endpoint: index, reason: reasonOf(error) })
      }
      throw error
    }
  }

  /** Remembers who tries an endpoint, for others to wait for. */
  function remember(endpoint: E, trial: Promise<unknown>): void {
    trials.set(
      endpoint,
      trial.catch(() => {}).finally(() => trials.delete(endpoint)),
    )
  }

  /** Nobody waits for the outcome: a failure is in the endpoint's health and in the log. */
  function lookAt(endpoint: E): void {
    remember(
      endpoint,
      attemptOn(endpoint, () => look(endpoint, background.signal), background.signal),
    )
  }

  /** Who failed is looked at when its time has come, and another one now and then, each in turn. */
  function lookAtOthers(chosen: E): void {
    const others = endpoints.filter((each) => each !== chosen && each.removed !== true && !trials.has(each))
    for (const endpoint of others) if (endpoint.health.probeDue()) lookAt(endpoint)
    if (clock.monotonicMs() - lookedMs < LOOK_MS) return
    const able = others.filter(({ health }) => health.state() === 'ready' && health.busyMs() === 0)
    const other = able[looks % able.length]
    if (other === undefined) return
    looks++
    lookedMs = clock.monotonicMs()
    lookAt(other)
  }

  /**
   * The next endpoint to try: the least tried for this question first, then by health, then one that is not behind, the
   * quicker one, and as configured. Undefined when all have had their tries.
   */
  function pick(tries: ReadonlyMap<E, number>): E | undefined {
    const ranked = endpoints
      .filter((endpoint) => endpoint.removed !== true && (tries.get(endpoint) ?? 0) < triesMax)
      .map((endpoint) => {
        const { health, index } = endpoint
        const state = health.busyMs() > 0 ? 3 : { ready: 0, doubtful: 1, open: 2 }[health.state()]
        const rank = [tries.get(endpoint) ?? 0, state, isBehind(index) ? 1 : 0, health.latencyClass(), index]
        return { endpoint, rank }
      })
    return ranked.sort((a, b) => compareRanks(a.rank, b.rank))[0]?.endpoint
  }

  async function ask<T>(attempt: Attempt<E, T>, deadline: Deadline): Promise<T> {
    const { signal } = deadline
    const tries = new Map<E, number>()
    /** Those whose newest block was not believed beside the others': better than nobody. */
    const doubted: E[] = []
    const errors: unknown[] = []
    let attempts = 0
    for (;;) {
      const next = pick(tries)
      const endpoint = next ?? doubted.shift()
      if (endpoint === undefined || attempts >= attemptsMax || signal.aborted) {
        const busyMs = Math.min(
          ...endpoints.filter(({ removed }) => removed !== true).map(({ health }) => health.busyMs()),
        )
        throw exhausted({ attempts, errors, busyMs })
      }
      const tried = tries.get(endpoint) ?? 0
      tries.set(endpoint, tried + 1)
      lookAtOthers(endpoint)
      const { health } = endpoint
      const pauseMs = tried === 0 ? 0 : againMs * 2 ** (tried - 1) * (1 + random())
      const waitMs = Math.max(health.busyMs(), pauseMs)
      if (waitMs >= deadline.remainingMs()) {
        tries.set(endpoint, triesMax)
        continue
      }
      try {
        if (waitMs > 0) await pause(waitMs, signal)
        const trial = trials.get(endpoint)
        if (trial !== undefined && health.state() === 'open') {
          await untilAborted(trial, signal)
          if (health.state() === 'open') continue
        }
        attempts++
        const limits = { signal, isLastResort: next === undefined }
        const asked = attemptOn(endpoint, () => attempt(endpoint, limits), signal)
        if (health.state() === 'open') remember(endpoint, asked)
        return await asked
      } catch (error) {
        if (!mayRotate(error) && !signal.aborted) throw error
        // Asking the same endpoint the same again would be refused again.
        if (error instanceof RpcRefusedError || error instanceof HeadError) tries.set(endpoint, triesMax)
        if (error instanceof HeadError) doubted.push(endpoint)
        errors.push(error)
      }
    }
  }

  return {
    ask,
    async ready(read) {
      if (clock.monotonicMs() - succeededMs < READY_MS) return true
      try {
        await read()
        return true
      } catch {
        // Not ready is the answer; why is in the log if an endpoint was lost.
        return false
      }
    },
    close: () => background.abort(),
  }
}

function mayRotate(error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof RpcRefusedError
}

/** Compares by the first number that differs; both of one length. */
function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

/** Why an endpoint was given up: what was wrong with its answer if that is known, always in our own words. */
function reasonOf(error: unknown): string {
  const cause = error instanceof UpstreamError ? error.cause : undefined
  return String(cause instanceof UpstreamError ? cause : error)
}
