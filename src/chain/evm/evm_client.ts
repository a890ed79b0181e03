import { withinDeadline } from '../../lib/async/abort.ts'
import type { Work } from '../../lib/async/work.ts'
import { AbortedError, UnavailableError } from '../../lib/error.ts'
import { BlockAgeError, blockAgeMaxSec } from '../block_age.ts'
import type { Chain } from '../chain.ts'
import {
  type ChainClient,
  ChainUnavailableError,
  ContractUnresponsiveError,
  type Endpoint,
  type PastBlock,
  type ReadOptions,
  RpcRefusedError,
} from '../rpc/client.ts'
import type { ClientOptions } from '../rpc/connection.ts'
import {
  createEndpointDepths,
  createHeadTracker,
  createJitterSequence,
  type EndpointDepths,
} from '../rpc/endpoint_state.ts'
import { EndpointError, hasFault } from '../rpc/error.ts'
import { createRotation, type MonitoredEndpoints, type RotationFailure, type RotationPolicy } from '../rpc/rotation.ts'
import { createEndpoint, type ManagedEndpoint } from './endpoint.ts'
import { readLatestBlock } from './read_block.ts'

/** Time limit of one read over all attempts, milliseconds. */
const BUDGET_MS = 2_500
/** Share of the budget for one call, so that a hanging call leaves time for another endpoint. */
const CALL_SHARE = 0.4
const POLICY: RotationPolicy = {
  triesMax: 2,
  retryMs: 50,
  lostState: 'open',
  firstProbeMs: 0,
  // A refusal of one kind of request says nothing about other kinds.
  blamesRefusals: false,
}
const RETRY_AFTER_SEC_MAX = 60
const NO_LENS =
  ' because its endpoints refuse "eth_call" with a state override and without "to", or at a block named by its hash'

/** A chain client with background work; call `close` when the process stops. */
export interface EvmClient<Row extends Chain = Chain> extends ChainClient<Row>, MonitoredEndpoints {
  /** True if an endpoint of the right chain answers from a recent block, or did so recently. Reads the header. */
  ready(work: Work): Promise<boolean>
}

/**
 * Creates the client of one chain over its endpoints in rotation. Answers of an endpoint are used only after
 * `eth_chainId` returned the chain's id. An endpoint whose newest block is far off the others' is used only if none of
 * them answers.
 */
export function createChainClient<Row extends Chain>(options: ClientOptions & { readonly chain: Row }): EvmClient<Row> {
  const { chain, clock, log, random = createJitterSequence(clock.now()) } = options
  const heads = createHeadTracker({ clock, blockTimeMs: chain.blockTimeMs })
  const shared = { ...options, heads, random, timeoutMs: BUDGET_MS * CALL_SHARE }
  const endpoints = chain.rpcUrls.map((_, index) => createEndpoint(index, shared))
  const depths = createEndpointDepths(clock)
  const readHead = (endpoint: Endpoint, work: Work) => readLatestBlock(endpoint, chain.id, work)
  const rotation = createRotation({
    endpoints,
    chainId: chain.id,
    policy: POLICY,
    clock,
    log,
    random,
    isBehind: heads.isDoubted,
    getHead: heads.getHead,
    probe: (endpoint, work) => runVerified(endpoint, () => readHead(endpoint, work), work.signal),
    toError: (failure) => unavailableError(chain, failure),
  })

  /** True if the block is so old that every node that follows the chain has it. */
  function isSettled({ timestampSec }: PastBlock): boolean {
    return clock.now() / 1_000 - Number(timestampSec) > blockAgeMaxSec(chain)
  }

  /**
   * Runs an attempt, remembers which past blocks the endpoint has, and throws `EndpointError` (pruned) if it lacks one.
   */
  async function withDepthTracking<T>(
    endpoint: ManagedEndpoint,
    past: ReadOptions['past'],
    run: () => Promise<T>,
  ): Promise<T> {
    const block = past === 'header' ? undefined : past
    try {
      const answer = await run()
      if (block !== undefined) depths.noteReached(endpoint.index, block.number)
      return answer
    } catch (error) {
      const isDropped = hasFault(error, 'no_state')
      if (past === undefined || !(isDropped || hasFault(error, 'no_block'))) throw error
      if (block !== undefined) {
        const isYoung = !isSettled(block)
        // A young block may be late or replaced, so its absence does not show how far back the endpoint reaches.
        if (!isDropped && isYoung) throw error
        if (!isYoung) depths.noteMissing(endpoint.index, block.number, { isWrong: hasFault(error, 'wrong_state') })
      }
      throw new EndpointError('pruned', 'The endpoint does not keep the block', { cause: error })
    }
  }

  const read: ChainClient['read'] = (attempt, options) => {
    const { work, budgetMs = BUDGET_MS, past, priority = 'caller', isBundled = false } = options
    const timeoutMs = budgetMs * CALL_SHARE
    const block = past === 'header' ? undefined : past
    const canAppear = block === undefined || !isSettled(block)
    const preference = {
      getRank: (index: number) => (block === undefined ? 0 : depths.getRank(index, block.number)),
      toError: (failure: RotationFailure) =>
        block === undefined
          ? unavailableError(chain, failure)
          : unavailableBlockError(block, { chain, depths, failure }),
      // Reads of old state may be slow or fail on endpoints that serve the newest state well.
      blames: priority === 'caller' && block === undefined,
    }
    return withinDeadline(
      (deadline) =>
        rotation.ask(
          (endpoint, { work: within, ...limits }) => {
            const limited = endpoint.withLimits({
              timeoutMs,
              canAppear,
              priority,
              bundling: isBundled ? 'always' : 'crowded',
              ...limits,
            })
            return withDepthTracking(endpoint, past, () =>
              runVerified(endpoint, () => attempt(limited, within), within.signal),
            )
          },
          deadline,
          preference,
        ),
      { ms: budgetMs, work, clock },
    )
  }

  return {
    chain,
    clock,
    log,
    read,
    background: endpoints.map(({ background }) => background),
    ready: (work) => rotation.ready(() => read(readHead, { work })),
    report: rotation.report,
    findUnresponsive: rotation.findUnresponsive,
    close: rotation.close,
  }
}

/** Runs check and read concurrently, so that first use costs no extra round trip; a failed check takes precedence. */
async function runVerified<T>(endpoint: ManagedEndpoint, run: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const [checked, answered] = await Promise.allSettled([endpoint.verify(signal), run()])
  if (checked.status === 'rejected') throw checked.reason
  if (answered.status === 'rejected') throw answered.reason
  return answered.value
}

/** True if the endpoint might have answered with more time or less load. */
function isLateError(error: unknown): boolean {
  return hasFault(error, 'late', 'busy', 'queue_full') || error instanceof AbortedError
}

function unavailableError({ id, name }: Chain, { attempts, errors, busyMs }: RotationFailure): UnavailableError {
  const after = attempts === 0 ? '' : ` after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}`
  const isRefused = errors.length > 0 && errors.every((error) => error instanceof RpcRefusedError)
  const isIncapable = isRefused && errors.every(({ reason }) => reason === 'lens')
  const unresponsive = errors.find((error) => error instanceof ContractUnresponsiveError)
  const distant = errors.find((error) => error instanceof BlockAgeError)
  const told = distant && `the newest block of its endpoint is ${distant.distance}`
  const cause = unresponsive?.message ?? told
  const reason = cause === undefined ? `${after}${isIncapable ? NO_LENS : ''}` : ` because ${cause}`
  const isLate = unresponsive === undefined && (attempts === 0 || errors.some(isLateError))
  const message = `Cannot read chain ${id} (${name})${reason}`
  const options = {
    cause: unresponsive ?? errors.at(-1),
    retryAfterSec: Math.min(RETRY_AFTER_SEC_MAX, Math.max(1, Math.ceil(busyMs / 1_000))),
  }
  if (isLate) return new ChainUnavailableError('late', message, options)
  return isRefused ? new ChainUnavailableError('refused', message, options) : new UnavailableError(message, options)
}

/** Creates the error of a read at a past block; it says how far back each endpoint reaches if all have pruned it. */
function unavailableBlockError(
  { number }: PastBlock,
  {
    chain,
    depths,
    failure,
  }: { readonly chain: Chain; readonly depths: EndpointDepths; readonly failure: RotationFailure },
): UnavailableError {
  const { id, name, rpcUrls } = chain
  if (failure.errors.some((error) => !hasFault(error, 'pruned'))) return unavailableError(chain, failure)
  const descriptions = rpcUrls.map((_, index) => {
    const floor = depths.getFloor(index)
    const depth = floor === undefined ? 'does not keep it' : `answered for blocks from ${floor} on`
    return `endpoint ${index + 1} of chain ${id} ${depth}`
  })
  return new ChainUnavailableError(
    'pruned',
    `Cannot read chain ${id} (${name}) at block ${number}: ${descriptions.join(', ')}; ` +
      `set RPC_URL_${id} to an archive endpoint to read older blocks`,
    { cause: failure.errors.at(-1), retryAfterSec: RETRY_AFTER_SEC_MAX },
  )
}
