import { pause, untilAborted } from '../lib/abort.ts'
import type { Clock } from '../lib/clock.ts'
import { AbortedError, UnavailableError, UpstreamError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import type { Chain } from './chain.ts'
import { type ChainClient, type Endpoint, RpcRefusedError } from './client.ts'
import { type Deadline, startDeadline } from './deadline.ts'
import { BehindError, createEndpoint, type ManagedEndpoint } from './endpoint.ts'
import { createHeads } from './heads.ts'
import { createSpread } from './health.ts'
import { BusyError } from './rpc_error.ts'
import type { RpcRecorder } from './rpc_metrics.ts'
import { parseQuantity } from './rpc_value.ts'
import { CrowdedError } from './slots.ts'
import type { Fetch } from './transport.ts'

/** All the time that one read has, over all its tries. */
const BUDGET_MS = 2_500
/** What one call may take of it: one that hangs leaves time for another endpoint. */
const CALL_SHARE = 0.4
const TRIES_PER_ENDPOINT = 2
/** Pause before an endpoint is tried again by the same read, spread by as much again. */
const AGAIN_MS = 50
/** A read that succeeded this recently proves readiness. */
const READY_MS = 5_000
const RETRY_AFTER_SEC_MAX = 60

/** A chain client with a life: `close` when the process stops. */
export interface EvmClient extends ChainClient {
  /** True where an endpoint of the right chain answers, or did within the last seconds. Reads `eth_blockNumber`. */
  ready(signal: AbortSignal): Promise<boolean>
  /** Stops what goes on in the background; reads end by their own signals. */
  close(): void
}

/**
 * Makes the client of one chain. Every endpoint must have answered `eth_chainId` with the chain's id before one of its
 * answers is believed. The healthiest is asked first; each failure moves on to the next, and back to the first when
 * all have had a turn. An endpoint that failed waits behind the others until a probe in the background succeeds.
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
  const readHead = readHeadOf(chain)
  /** The single try that an endpoint in state `open` is given, and background probes. */
  const trials = new Map<ManagedEndpoint, Promise<unknown>>()
  let succeededMs = Number.NEGATIVE_INFINITY

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

  /** Who failed is asked again without a caller waiting for the outcome. */
  function probeOthers(chosen: ManagedEndpoint): void {
    for (const endpoint of endpoints) {
      if (endpoint === chosen || endpoint.removed || trials.has(endpoint) || !endpoint.health.probeDue()) continue
      const probe = attemptOn(endpoint, readHead, background.signal)
      trials.set(
        endpoint,
        probe.catch(() => {}).finally(() => trials.delete(endpoint)),
      )
    }
  }

  /** The next endpoint to try: least tried by this read first, then by health, head and latency, then as configured. */
  function pick(tries: ReadonlyMap<ManagedEndpoint, number>): ManagedEndpoint | undefined {
    const score = (endpoint: ManagedEndpoint): number => {
      const { health, index } = endpoint
      const state = health.busyMs() > 0 ? 4 : { ready: 0, doubtful: 2, open: 3 }[health.state()]
      const behind = heads.isBehind(index) ? 1 : 0
      return (((tries.get(endpoint) ?? 0) * 8 + Math.max(state, behind)) * 32 + health.latencyClass()) * 256 + index
    }
    return endpoints
      .filter((endpoint) => !endpoint.removed && (tries.get(endpoint) ?? 0) < TRIES_PER_ENDPOINT)
      .sort((a, b) => score(a) - score(b))[0]
  }

  async function readWithin<T>(attempt: Attempt<T>, deadline: Deadline): Promise<T> {
    const tries = new Map<ManagedEndpoint, number>()
    let attempts = 0
    let last: unknown
    for (;;) {
      const endpoint = pick(tries)
      if (endpoint === undefined || deadline.signal.aborted) throw unavailable(attempts, last)
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
        return await tryOn(endpoint, attempt, deadline.signal)
      } catch (error) {
        if (!mayRotate(error) && !deadline.signal.aborted) throw error
        // Asking the same endpoint the same again would be refused again.
        if (error instanceof RpcRefusedError || error instanceof BehindError) tries.set(endpoint, TRIES_PER_ENDPOINT)
        last = error
      }
    }
  }

  function unavailable(attempts: number, cause: unknown): UnavailableError {
    const pauses = endpoints.filter(({ removed }) => !removed).map(({ health }) => health.busyMs())
    const after = attempts === 0 ? '' : ` after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
    return new UnavailableError(`Cannot read chain ${chain.id} (${chain.name})${after}`, {
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
      const limited: Attempt<T> = (endpoint, within) => attempt(endpoint.withTimeout(budgetMs * CALL_SHARE), within)
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

/** Asks an endpoint of the chain how far it is. */
function readHeadOf({ id: chainId }: Chain) {
  return async (endpoint: Endpoint, signal: AbortSignal): Promise<void> => {
    const number = await endpoint.request({ method: 'eth_blockNumber', params: [], parse: parseQuantity }, signal)
    endpoint.observeBlock({ chainId, number })
  }
}

function mayRotate(error: unknown): boolean {
  return error instanceof UpstreamError || error instanceof RpcRefusedError
}

function isFailure(error: unknown): boolean {
  return error instanceof UpstreamError && !(error instanceof CrowdedError) && !(error instanceof BehindError)
}
