import { pause, untilAborted } from '../lib/abort.ts'
import type { Clock } from '../lib/clock.ts'
import { AbortedError, UnavailableError, UpstreamError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import type { Chain } from './chain.ts'
import { type ChainClient, type Endpoint, IncapableError, RpcRefusedError } from './client.ts'
import { type Deadline, startDeadline } from './deadline.ts'
import { createEndpoint, HeadError, type ManagedEndpoint } from './endpoint.ts'
import { createHeads } from './heads.ts'
import { createSpread } from './health.ts'
import { readLatestBlock } from './read_block.ts'
import { BusyError } from './rpc_error.ts'
import type { RpcRecorder } from './rpc_metrics.ts'
import { CrowdedError } from './slots.ts'
import type { Fetch } from './transport.ts'

/** All the time that one read has, over all its tries. */
const BUDGET_MS = 2_500
/** What one call may take of it: one that hangs leaves time for another endpoint. */
const CALL_SHARE = 0.4
const TRIES_PER_ENDPOINT = 2
/** Pause before an endpoint is tried again by the same read, spread by as much again. */
const AGAIN_MS = 50
/** How often, at most, another endpoint than the one that serves is asked how far it is. */
const COMPARE_MS = 10_000
/** A read that succeeded this recently proves readiness. */
const READY_MS = 5_000
const RETRY_AFTER_SEC_MAX = 60
const NO_LENS =
  ' because its endpoints refuse "eth_call" with a state override and without "to", or at a block named by its hash'

/** A chain client with a life: `close` when the process stops. */
export interface EvmClient extends ChainClient {
  /** True where an endpoint of the right chain answers from a recent block, or did within the last seconds. Reads its header. */
  ready(signal: AbortSignal): Promise<boolean>
  /** Stops what goes on in the background; reads end by their own signals. */
  close(): void
}

/**
 * Makes the client of one chain. Every endpoint must have answered `eth_chainId` with the chain's id before one of its
 * answers is believed. The healthiest is asked first; each failure moves on to the next, and back to the first when
 * all have had a turn. An endpoint that failed waits behind the others until a probe in the background succeeds. One
 * whose newest block is far off what the others show is used only if none of them answers. While reads come in, the
 * others are asked for their newest block now and then, so that an endpoint that stands still is found out.
 */
export function createChainClient(options: {
  readonly chain: Chain
  readonly clock: Clock
  readonly log: Log
  readonly fetch?: Fetch
  /** Numbers in [0, 1) that spread pauses; evenly spread ones by default. */
  readonly random?: () => number
  /** Told of each finished request to an endpoint. */
  readonly record?: RpcRecorder
}): EvmClient {
  const { chain, clock, log, fetch = globalThis.fetch, record = () => {} } = options
  const random = options.random ?? createSpread(clock.now())
  const heads = createHeads({ clock, blockTimeMs: chain.blockTimeMs })
  const shared = { chain, timeoutMs: BUDGET_MS * CALL_SHARE, heads, clock, log, fetch, random, record }
  const endpoints = chain.rpcUrls.map((_, index) => createEndpoint(index, shared))
  const background = new AbortController()
  const readHead = (endpoint: Endpoint, signal: AbortSignal) => readLatestBlock(endpoint, chain.id, signal)
  /** The single try that an endpoint in state `open` is given, and background probes. */
  const trials = new Map<ManagedEndpoint, Promise<unknown>>()
  let succeededMs = Number.NEGATIVE_INFINITY
  let comparedMs = Number.NEGATIVE_INFINITY
  let comparisons = 0

  async function attemptOn<T>(endpoint: ManagedEndpoint, attempt: Attempt<T>, signal: AbortSignal): Promise<T> {
    const before = endpoint.health.state()
    try {
      // At the same time, so that the first use of an endpoint costs no round trip more; but checked first.
      const [verified, answered] = await Promise.allSettled([endpoint.verify(signal), attempt(endpoint, signal)])
      if (verified.status === 'rejected') throw verified.reason
      if (answered.status === 'rejected') throw answered.reason
      endpoint.health.succeeded()
      succeededMs = clock.monotonicMs()
      if (before === 'open') log.info({ msg: 'Regained an RPC endpoint', chainId: chain.id, endpoint: endpoint.index })
      return answered.value
    } catch (error) {
      if (error instanceof BusyError) endpoint.health.limited(error.retryAfterMs)
      else if (isFailure(error) && !signal.aborted) endpoint.health.failed()
      if (before !== 'open' && endpoint.health.state() === 'open') {
        log.warn({ msg: 'Lost an RPC endpoint', chainId: chain.id, endpoint: endpoint.index, reason: String(error) })
      }
      throw error
    }
  }

  /** An endpoint in state `open` is tried by one caller at a time, who is remembered here for the others to wait for. */
  function tryOn<T>(endpoint: ManagedEndpoint, attempt: Attempt<T>, signal: AbortSignal): Promise<T> {
    const trial = attemptOn(endpoint, attempt, signal)
    if (endpoint.health.state() !== 'open') return trial
    const settled = trial.catch(() => {}).finally(() => trials.delete(endpoint))
    trials.set(endpoint, settled)
    return trial
  }

  /** Asks an endpoint for its newest block without a caller waiting for the outcome. */
  function probe(endpoint: ManagedEndpoint): void {
    const probed = attemptOn(endpoint, readHead, background.signal)
    trials.set(
      endpoint,
      probed.catch(() => {}).finally(() => trials.delete(endpoint)),
    )
  }

  /** Who failed is asked again when its time has come, and another one now and then, each in turn. */
  function probeOthers(chosen: ManagedEndpoint): void {
    const others = endpoints.filter((each) => each !== chosen && !each.removed && !trials.has(each))
    for (const endpoint of others) if (endpoint.health.probeDue()) probe(endpoint)
    if (clock.monotonicMs() - comparedMs < COMPARE_MS) return
    const able = others.filter(({ health }) => health.state() === 'ready' && health.busyMs() === 0)
    const other = able[comparisons % able.length]
    if (other === undefined) return
    comparisons++
    comparedMs = clock.monotonicMs()
    probe(other)
  }

  /** The next endpoint to try: least tried by this read first, then by health, head and latency, then as configured. */
  function pick(tries: ReadonlyMap<ManagedEndpoint, number>): ManagedEndpoint | undefined {
    const score = (endpoint: ManagedEndpoint): number => {
      const { health, index } = endpoint
      const state = health.busyMs() > 0 ? 4 : { ready: 0, doubtful: 2, open: 3 }[health.state()]
      const doubted = heads.isDoubted(index) ? 1 : 0
      return (((tries.get(endpoint) ?? 0) * 8 + Math.max(state, doubted)) * 32 + health.latencyClass()) * 256 + index
    }
    return endpoints
      .filter((endpoint) => !endpoint.removed && (tries.get(endpoint) ?? 0) < TRIES_PER_ENDPOINT)
      .sort((a, b) => score(a) - score(b))[0]
  }

  async function readWithin<T>(attempt: LimitedAttempt<T>, deadline: Deadline): Promise<T> {
    const tries = new Map<ManagedEndpoint, number>()
    /** Those whose newest block was not believed beside the others': better than nobody. */
    const doubted: ManagedEndpoint[] = []
    let attempts = 0
    let last: unknown
    let incapable = 0
    for (;;) {
      const next = pick(tries)
      const endpoint = next ?? doubted.shift()
      if (endpoint === undefined || deadline.signal.aborted) {
        throw unavailable({ attempts, cause: last, because: attempts > 0 && incapable === attempts ? NO_LENS : '' })
      }
      const isLastResort = next === undefined
      const tried = tries.get(endpoint) ?? 0
      tries.set(endpoint, tried + 1)
      probeOthers(endpoint)
      try {
        const waitMs = Math.max(endpoint.health.busyMs(), tried === 0 ? 0 : AGAIN_MS * (1 + random()))
        if (waitMs >= deadline.remainingMs()) {
          tries.set(endpoint, TRIES_PER_ENDPOINT)
          continue
        }
        if (waitMs > 0) await pause(waitMs, deadline.signal)
        const trial = trials.get(endpoint)
        if (trial !== undefined && endpoint.health.state() === 'open') {
          await untilAborted(trial, deadline.signal)
          if (endpoint.health.state() === 'open') continue
        }
        attempts++
        return await tryOn(endpoint, (each, signal) => attempt(each, { signal, isLastResort }), deadline.signal)
      } catch (error) {
        if (!mayRotate(error) && !deadline.signal.aborted) throw error
        // Asking the same endpoint the same again would be refused again.
        if (error instanceof RpcRefusedError || error instanceof HeadError) tries.set(endpoint, TRIES_PER_ENDPOINT)
        if (error instanceof IncapableError) incapable++
        if (error instanceof HeadError) doubted.push(endpoint)
        last = error
      }
    }
  }

  function unavailable(failure: { attempts: number; cause: unknown; because: string }): UnavailableError {
    const { attempts, cause, because } = failure
    const pauses = endpoints.filter(({ removed }) => !removed).map(({ health }) => health.busyMs())
    const after = attempts === 0 ? '' : ` after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
    return new UnavailableError(`Cannot read chain ${chain.id} (${chain.name})${after}${because}`, {
      cause,
      retryAfterSec: Math.min(RETRY_AFTER_SEC_MAX, Math.max(1, Math.ceil(Math.min(...pauses) / 1_000))),
    })
  }

  async function read<T>(
    attempt: (endpoint: Endpoint, signal: AbortSignal) => Promise<T>,
    { signal, budgetMs = BUDGET_MS }: { readonly signal: AbortSignal; readonly budgetMs?: number },
  ): Promise<T> {
    const deadline = startDeadline(budgetMs, { parent: signal, now: clock.monotonicMs })
    try {
      const timeoutMs = budgetMs * CALL_SHARE
      const limited: LimitedAttempt<T> = (endpoint, { signal: within, isLastResort }) =>
        attempt(endpoint.within({ timeoutMs, isLastResort }), within)
      return await readWithin(limited, deadline)
    } catch (error) {
      throw signal.aborted ? new AbortedError('The caller left') : error
    } finally {
      deadline.stop()
    }
  }

  return {
    chain,
    read,
    async ready(signal) {
      if (clock.monotonicMs() - succeededMs < READY_MS) return true
      try {
        await read(readHead, { signal })
        return true
      } catch {
        // Not ready is the answer; why is in the log where an endpoint was lost.
        return false
      }
    },
    close: () => background.abort(),
  }
}

type Attempt<T> = (endpoint: ManagedEndpoint, signal: AbortSignal) => Promise<T>
type LimitedAttempt<T> = (
  endpoint: ManagedEndpoint,
  limits: { readonly signal: AbortSignal; readonly isLastResort: boolean },
) => Promise<T>

function mayRotate(error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof RpcRefusedError
}

function isFailure(error: unknown): boolean {
  return error instanceof UpstreamError && !(error instanceof CrowdedError) && !(error instanceof HeadError)
}
