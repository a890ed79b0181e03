import { withinDeadline } from '../../lib/async/abort.ts'
import { AbortedError, UnavailableError } from '../../lib/error.ts'
import { blockAgeMaxSec } from '../block_age.ts'
import type { Chain } from '../chain.ts'
import {
  type ChainClient,
  ContractUnresponsiveError,
  type Endpoint,
  EndpointsTimedOutError,
  LensUnsupportedError,
  type PastBlock,
  type ReadOptions,
  StatePrunedError,
} from '../rpc/client.ts'
import type { ClientOptions } from '../rpc/connection.ts'
import { createEndpointDepths, type EndpointDepths } from '../rpc/endpoint_state/depths.ts'
import { createHeadTracker } from '../rpc/endpoint_state/heads.ts'
import { createJitterSequence } from '../rpc/endpoint_state/health.ts'
import { EndpointPrunedError, MissingBlockError, MissingStateError, RateLimitedError } from '../rpc/error.ts'
import { QueueFullError } from '../rpc/limiter/limiter.ts'
import {
  createRotation,
  type MonitoredEndpoints,
  type RotationFailure,
  type RotationPolicy,
} from '../rpc/rotation/rotation.ts'
import { ResponseTimeoutError } from '../rpc/transport.ts'
import { createEndpoint, type ManagedEndpoint } from './endpoint.ts'
import { readLatestBlock } from './read_block.ts'

/** Time limit of one read, over all its tries, milliseconds. */
const BUDGET_MS = 2_500
/** Share of the budget for one call: if it hangs, there is time left for another endpoint. */
const CALL_SHARE = 0.4
const POLICY: RotationPolicy = {
  triesMax: 2,
  againMs: 50,
  lostAt: 'open',
  firstLookMs: 0,
  // A refusal of one kind of request says nothing about other kinds.
  blamesRefusals: false,
}
const RETRY_AFTER_SEC_MAX = 60
const NO_LENS =
  ' because its endpoints refuse "eth_call" with a state override and without "to", or at a block named by its hash'

/** A chain client with work in the background; call `close` when the process stops. */
export interface EvmClient<Row extends Chain = Chain> extends ChainClient<Row>, MonitoredEndpoints {
  /** True if an endpoint of the right chain answers from a recent block, or did so lately. Reads its header. */
  ready(signal: AbortSignal): Promise<boolean>
}

/**
 * Makes the client of one chain, over its endpoints in rotation. Every endpoint must have answered `eth_chainId` with
 * the chain's id before one of its answers is believed. One whose newest block is far off what the others show is used
 * only if none of them answers.
 */
export function createChainClient<Row extends Chain>(options: ClientOptions & { readonly chain: Row }): EvmClient<Row> {
  const { chain, clock, log, random = createJitterSequence(clock.now()) } = options
  const heads = createHeadTracker({ clock, blockTimeMs: chain.blockTimeMs })
  const shared = { ...options, heads, random, timeoutMs: BUDGET_MS * CALL_SHARE }
  const endpoints = chain.rpcUrls.map((_, index) => createEndpoint(index, shared))
  const depths = createEndpointDepths(clock)
  const readHead = (endpoint: Endpoint, signal: AbortSignal) => readLatestBlock(endpoint, chain.id, signal)
  const rotation = createRotation({
    endpoints,
    chainId: chain.id,
    policy: POLICY,
    clock,
    log,
    random,
    isBehind: heads.isDoubted,
    headOf: heads.headOf,
    look: (endpoint, signal) => verified(endpoint, () => readHead(endpoint, signal), signal),
    exhausted: (exhaustion) => unavailable(chain, exhaustion),
  })

  /** True if no node that follows the chain can still be waiting for the block. */
  function isSettled({ timestampSec }: PastBlock): boolean {
    return clock.now() / 1_000 - Number(timestampSec) > blockAgeMaxSec(chain)
  }

  /** What an attempt at the past ends with if the endpoint does not keep it; remembers what it keeps. */
  async function deepened<T>(endpoint: ManagedEndpoint, past: ReadOptions['past'], run: () => Promise<T>): Promise<T> {
    const block = past === 'header' ? undefined : past
    try {
      const answer = await run()
      if (block !== undefined) depths.reached(endpoint.index, block.number)
      return answer
    } catch (error) {
      const isDropped = error instanceof MissingStateError
      if (past === undefined || !(isDropped || error instanceof MissingBlockError)) throw error
      if (block !== undefined) {
        const isYoung = !isSettled(block)
        // A young block may only be late, or was replaced. Its state may come, too.
        if (!isDropped && isYoung) throw error
        if (!isYoung) depths.missed(endpoint.index, block.number)
      }
      throw new EndpointPrunedError('The endpoint does not keep the block', { cause: error })
    }
  }

  const read: ChainClient['read'] = (attempt, options) => {
    const { signal, budgetMs = BUDGET_MS, past, priority = 'caller', together = false } = options
    const timeoutMs = budgetMs * CALL_SHARE
    const block = past === 'header' ? undefined : past
    const mayCome = block === undefined || !isSettled(block)
    const preference = {
      rankOf: (index: number) => (block === undefined ? 0 : depths.rankOf(index, block.number)),
      exhausted: (exhaustion: RotationFailure) =>
        block === undefined ? unavailable(chain, exhaustion) : unavailableAt(block, { chain, depths, exhaustion }),
      // Old state may be slow or odd although the newest is neither.
      blames: priority === 'caller' && block === undefined,
    }
    return withinDeadline(
      (deadline) =>
        rotation.ask(
          (endpoint, { signal: within, ...limits }) => {
            const limited = endpoint.within({
              timeoutMs,
              mayCome,
              priority,
              together: together ? 'always' : 'crowded',
              ...limits,
            })
            return deepened(endpoint, past, () => verified(endpoint, () => attempt(limited, within), within))
          },
          deadline,
          preference,
        ),
      { ms: budgetMs, signal, now: clock.monotonicMs },
    )
  }

  return {
    chain,
    log,
    read,
    background: endpoints.map(({ background }) => background),
    ready: (signal) => rotation.ready(() => read(readHead, { signal })),
    report: rotation.report,
    silent: rotation.silent,
    close: rotation.close,
  }
}

/** Runs both at the same time, so that first use costs no further round trip; a failed check takes precedence. */
async function verified<T>(endpoint: ManagedEndpoint, run: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const [checked, answered] = await Promise.allSettled([endpoint.verify(signal), run()])
  if (checked.status === 'rejected') throw checked.reason
  if (answered.status === 'rejected') throw answered.reason
  return answered.value
}

/** What an endpoint might have answered if it had more time, or fewer other questions. */
const LATE = [ResponseTimeoutError, RateLimitedError, QueueFullError, AbortedError] as const

function unavailable({ id, name }: Chain, { attempts, errors, busyMs }: RotationFailure): UnavailableError {
  const after = attempts === 0 ? '' : ` after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
  const isIncapable = errors.length > 0 && errors.every((error) => error instanceof LensUnsupportedError)
  const silent = errors.find((error) => error instanceof ContractUnresponsiveError)
  const because = silent === undefined ? `${after}${isIncapable ? NO_LENS : ''}` : ` because ${silent.message}`
  const isLate =
    silent === undefined && (attempts === 0 || errors.some((error) => LATE.some((kind) => error instanceof kind)))
  return new (isLate ? EndpointsTimedOutError : UnavailableError)(`Cannot read chain ${id} (${name})${because}`, {
    cause: silent ?? errors.at(-1),
    retryAfterSec: Math.min(RETRY_AFTER_SEC_MAX, Math.max(1, Math.ceil(busyMs / 1_000))),
  })
}

/** The error of a read at a past block: how far back each endpoint reached, if that is why nobody answered. */
function unavailableAt(
  { number }: PastBlock,
  {
    chain,
    depths,
    exhaustion,
  }: { readonly chain: Chain; readonly depths: EndpointDepths; readonly exhaustion: RotationFailure },
): UnavailableError {
  const { id, name, rpcUrls } = chain
  if (exhaustion.errors.some((error) => !(error instanceof EndpointPrunedError))) return unavailable(chain, exhaustion)
  const kept = rpcUrls.map((_, index) => {
    const floor = depths.floorOf(index)
    const depth = floor === undefined ? 'does not keep it' : `answered for blocks from ${floor} on`
    return `endpoint ${index + 1} of chain ${id} ${depth}`
  })
  return new StatePrunedError(
    `Cannot read chain ${id} (${name}) at block ${number}: ${kept.join(', ')}; ` +
      `set RPC_URL_${id} to an archive endpoint to read older blocks`,
    { cause: exhaustion.errors.at(-1), retryAfterSec: RETRY_AFTER_SEC_MAX },
  )
}
