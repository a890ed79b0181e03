import { type Hex, toHex } from 'viem'
import { untilAborted } from '../../lib/async/abort.ts'
import { createWork, type Work } from '../../lib/async/work.ts'
import { UpstreamError } from '../../lib/error.ts'
import { groupBy } from '../../lib/group_by.ts'
import type { Log } from '../../lib/log.ts'
import { checkBlockAge } from '../block_age.ts'
import type { Chain } from '../chain.ts'
import {
  type BackgroundEndpoint,
  type CallBlock,
  type Endpoint,
  type EthCall,
  type Priority,
  RevertError,
  type RpcRequest,
  type StorageWord,
} from '../rpc/client.ts'
import { type ConnectionOptions, createConnection } from '../rpc/connection.ts'
import type { HeadTracker } from '../rpc/endpoint_state.ts'
import { EndpointError, hasFault } from '../rpc/error.ts'
import { createRetrier } from '../rpc/retrier.ts'
import type { AttemptLimits } from '../rpc/rotation.ts'
import { parseBytes, parseQuantity } from '../rpc/value.ts'

/** Pauses before a missing block is requested again, milliseconds. */
const MISSING_PAUSES_MS = [50, 100, 200, 300, 400] as const

/** An endpoint as the client manages it. */
export type ManagedEndpoint = ReturnType<typeof createEndpoint>

interface ReadLimits extends Omit<AttemptLimits, 'work'> {
  readonly timeoutMs: number
  /** True if a missing block may still arrive; it is then requested again. */
  readonly canAppear: boolean
  readonly priority: Priority
  readonly bundling: Endpoint['bundling']
}

interface EndpointOptions extends Omit<ConnectionOptions, 'index' | 'meanings'> {
  readonly chain: Chain
  readonly heads: HeadTracker
  readonly log: Log
}

/** Creates the endpoint at index `index` of the chain's configuration. */
export function createEndpoint(index: number, options: EndpointOptions) {
  const { chain, heads, log, timeoutMs, clock, random } = options
  const { health, send } = createConnection(chain.rpcUrls[index] ?? '', { ...options, index })
  const learned: Endpoint['learned'] = new Map()
  let isVerified = false
  let verification: Promise<void> | undefined
  let isRemoved = false

  /** Repeats the request after a pause while the block is missing: another node behind the address may have it. */
  async function sendPinned<T>(request: RpcRequest<T>, work: Work, priority: Priority): Promise<T> {
    for (const pauseMs of MISSING_PAUSES_MS) {
      try {
        return await send(request, work, priority)
      } catch (error) {
        if (!hasFault(error, 'no_block')) throw error
        await clock.sleep(pauseMs, work.signal)
      }
    }
    return await send(request, work, priority)
  }

  /** Sends a request other than a call. It runs no contract, so a revert is an error of the endpoint. */
  async function ask<T>(request: RpcRequest<T>, work: Work, priority?: Priority): Promise<T> {
    try {
      return await send(request, work, priority)
    } catch (error) {
      if (error instanceof RevertError) throw new UpstreamError(`The endpoint reverted ${request.method}`)
      throw error
    }
  }

  /**
   * Checks the chain id once for all waiting callers, so it follows no caller's signal. The transport limits its time.
   */
  async function checkChain(): Promise<void> {
    const request = { method: 'eth_chainId', params: [], parse: parseQuantity }
    const id = await ask(request, createWork(new AbortController().signal))
    isVerified = id === BigInt(chain.id)
    if (isVerified) return
    isRemoved = true
    heads.forget(index)
    const msg = 'Removed an RPC endpoint that serves another chain'
    log.error({ msg, chainId: chain.id, endpoint: index + 1, answered: id })
    throw new UpstreamError('The endpoint serves another chain')
  }

  /** Creates the view of this endpoint for one read. */
  function withLimits(limits: ReadLimits): Endpoint {
    const { timeoutMs, isLastResort, canAppear, priority, bundling, isAlone, remainingMs } = limits
    const retry = createRetrier({ clock, isAlone, remainingMs, onRateLimited: health.recordRateLimit, random })
    return {
      index,
      learned,
      priority,
      bundling,
      observeBlock(block) {
        // Blocks of another chain must not enter the comparison of heads.
        if (isRemoved) throw new UpstreamError('The endpoint serves another chain')
        if (block.chainId !== chain.id) throw new UpstreamError(`The endpoint answered for chain ${block.chainId}`)
        checkBlockAge(block, { chain, nowMs: clock.now() })
        const verdict = heads.observe(index, block)
        if (verdict !== 'believed' && !isLastResort)
          throw new EndpointError('far_head', `The endpoint is far ${verdict} beside others`)
      },
      request: (request, work) => retry(() => ask({ timeoutMs, ...request }, work, priority), work.signal),
      call(request, work) {
        const rpcRequest = { method: 'eth_call', params: toCallParams(request), parse: parseBytes, timeoutMs }
        const isSentOnce = request.block === 'latest' || request.mustWait === false || !canAppear
        return retry(() => (isSentOnce ? send : sendPinned)(rpcRequest, work, priority), work.signal)
      },
    }
  }

  /**
   * Reads `eth_chainId` once; later calls make no request. If the endpoint serves another chain, removes it and throws
   * `UpstreamError`.
   */
  async function verify(signal: AbortSignal): Promise<void> {
    if (isVerified) return
    verification ??= checkChain().finally(() => {
      verification = undefined
    })
    await untilAborted(verification, signal)
  }

  const background: BackgroundEndpoint = {
    index,
    get usable() {
      return !isRemoved && health.state() !== 'open'
    },
    async request<T>(request: RpcRequest<T>, work: Work): Promise<T> {
      await verify(work.signal)
      return await ask(request, work, 'background')
    },
  }

  return {
    ...withLimits({
      timeoutMs,
      isLastResort: false,
      isAlone: false,
      canAppear: true,
      priority: 'caller',
      bundling: 'crowded',
      remainingMs: () => 0,
    }),
    health,
    withLimits,
    background,
    /** True once the endpoint has answered for another chain; it is then never used again. */
    get removed(): boolean {
      return isRemoved
    },
    verify,
  }
}

function toCallParams({
  from,
  to,
  data,
  block,
  code,
  additionalCodes,
  storage = [],
  gas,
  blockOverrides,
}: EthCall): unknown[] {
  const target = to === undefined ? { data } : { ...(from && { from }), to, data }
  const transaction = gas === undefined ? target : { ...target, gas: toHex(gas) }
  const overrides = blockOverrides === undefined ? [] : [blockOverrides]
  const tag = toBlockTag(block)
  if (to === undefined || code === undefined)
    return overrides.length === 0 ? [transaction, tag] : [transaction, tag, {}, ...overrides]
  return [transaction, tag, toStateOverrides({ [to]: code, ...additionalCodes }, storage), ...overrides]
}

/** Converts runtime codes by address and words of storage of other accounts to the overrides of a JSON-RPC call. */
export function toStateOverrides(codes: Readonly<Record<Hex, Hex>>, storage: readonly StorageWord[] = []): object {
  const words = [...groupBy(storage, ({ address }) => address)].map(([address, each]) => {
    return [address, { stateDiff: Object.fromEntries(each.map(({ slot, word }) => [slot, word])) }]
  })
  return Object.fromEntries([...Object.entries(codes).map(([address, code]) => [address, { code }]), ...words])
}

/** Converts a block to a JSON-RPC parameter: a tag, a height, or an object with its hash (EIP-1898). */
function toBlockTag(block: CallBlock): unknown {
  if (typeof block === 'bigint') return toHex(block)
  return block === 'latest' ? block : { blockHash: block.hash }
}
