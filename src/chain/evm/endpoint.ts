import { toHex } from 'viem'
import { delay, untilAborted } from '../../lib/async/abort.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import { checkBlockAge } from '../block_age.ts'
import type { Chain } from '../chain.ts'
import {
  type BackgroundEndpoint,
  type CallBlock,
  type Endpoint,
  type EthCall,
  RevertError,
  type RpcRequest,
} from '../rpc/client.ts'
import { type ConnectionOptions, createConnection } from '../rpc/connection.ts'
import { HeadMismatchError, type HeadTracker } from '../rpc/endpoint_state/heads.ts'
import { MissingBlockError } from '../rpc/error.ts'
import type { Priority } from '../rpc/limiter/limiter.ts'
import { createRetrier } from '../rpc/rotation/retrier.ts'
import type { AttemptLimits } from '../rpc/rotation/rotation.ts'
import { parseBytes, parseQuantity } from '../rpc/value.ts'

/** Pauses before a missing block is asked for again, milliseconds. */
const MISSING_PAUSES_MS = [50, 100, 200, 300, 400] as const

/** An endpoint as the client manages it. */
export type ManagedEndpoint = ReturnType<typeof createEndpoint>

interface ReadLimits extends Omit<AttemptLimits, 'signal'> {
  readonly timeoutMs: number
  /** True if a block that is missing now may still come: it is then asked for again. */
  readonly mayCome: boolean
  readonly priority: Priority
  readonly together: Endpoint['together']
}

interface EndpointOptions extends Omit<ConnectionOptions, 'index' | 'meanings'> {
  readonly chain: Chain
  readonly heads: HeadTracker
  readonly log: Log
}

/** Makes the endpoint at position `index` of the chain's configuration. */
export function createEndpoint(index: number, options: EndpointOptions) {
  const { chain, heads, log, timeoutMs, clock, random } = options
  const { health, send } = createConnection(chain.rpcUrls[index] ?? '', { ...options, index })
  const learned: Endpoint['learned'] = new Map()
  let verified = false
  let verifying: Promise<void> | undefined
  let removed = false

  /** If the node does not have the block yet, asks again after a pause: another node behind the address may have it. */
  async function sendPinned<T>(request: RpcRequest<T>, signal: AbortSignal, priority: Priority): Promise<T> {
    for (const pauseMs of MISSING_PAUSES_MS) {
      try {
        return await send(request, signal, priority)
      } catch (error) {
        if (!(error instanceof MissingBlockError)) throw error
        await delay(pauseMs, signal)
      }
    }
    return await send(request, signal, priority)
  }

  /** Any request but a call. It runs no contract, so it cannot revert. */
  async function ask<T>(request: RpcRequest<T>, signal: AbortSignal, priority?: Priority): Promise<T> {
    try {
      return await send(request, signal, priority)
    } catch (error) {
      if (error instanceof RevertError) throw new UpstreamError(`The endpoint reverted ${request.method}`)
      throw error
    }
  }

  /** One check for all callers that wait for it, so it follows no caller's signal. The transport limits its time. */
  async function checkChain(): Promise<void> {
    const request = { method: 'eth_chainId', params: [], parse: parseQuantity }
    const id = await ask(request, new AbortController().signal)
    verified = id === BigInt(chain.id)
    if (verified) return
    removed = true
    heads.forget(index)
    const msg = 'Took an RPC endpoint of another chain out of service'
    log.error({ msg, chainId: chain.id, endpoint: index + 1, answered: id })
    throw new UpstreamError('The endpoint serves another chain')
  }

  /** The same endpoint for one read. */
  function within(limits: ReadLimits): Endpoint {
    const { timeoutMs, isLastResort, mayCome, priority, together, isAlone, remainingMs } = limits
    const again = createRetrier({ isAlone, remainingMs, limited: health.limited, random })
    return {
      index,
      learned,
      priority,
      together,
      observeBlock(block) {
        // A block of another chain must not be compared with the blocks of other endpoints.
        if (removed) throw new UpstreamError('The endpoint serves another chain')
        if (block.chainId !== chain.id) throw new UpstreamError(`The endpoint answered for chain ${block.chainId}`)
        checkBlockAge(block, { chain, nowMs: clock.now() })
        const verdict = heads.observe(index, block)
        if (verdict !== 'believed' && !isLastResort)
          throw new HeadMismatchError(`The endpoint is far ${verdict} beside others`)
      },
      request: (request, signal) => again(() => ask({ timeoutMs, ...request }, signal, priority), signal),
      call(request, signal) {
        const sent = { method: 'eth_call', params: callParams(request), parse: parseBytes, timeoutMs }
        const once = request.block === 'latest' || request.waits === false || !mayCome
        return again(() => (once ? send : sendPinned)(sent, signal, priority), signal)
      },
    }
  }

  /**
   * Reads `eth_chainId` once; later calls make no request. Throws `UpstreamError` if it serves another chain, and takes
   * the endpoint out of service.
   */
  async function verify(signal: AbortSignal): Promise<void> {
    if (verified) return
    verifying ??= checkChain().finally(() => {
      verifying = undefined
    })
    await untilAborted(verifying, signal)
  }

  const background: BackgroundEndpoint = {
    index,
    get usable() {
      return !removed && health.state() !== 'open'
    },
    async request<T>(request: RpcRequest<T>, signal: AbortSignal): Promise<T> {
      await verify(signal)
      return await ask(request, signal, 'background')
    },
  }

  return {
    ...within({
      timeoutMs,
      isLastResort: false,
      isAlone: false,
      mayCome: true,
      priority: 'caller',
      together: 'crowded',
      remainingMs: () => 0,
    }),
    health,
    within,
    background,
    /** True once the endpoint has answered for another chain; it is then never asked again. */
    get removed(): boolean {
      return removed
    },
    verify,
  }
}

function callParams({ to, data, block, code, others, gas, surroundings }: EthCall): unknown[] {
  const asked = to === undefined ? { data } : { to, data }
  const transaction = gas === undefined ? asked : { ...asked, gas: toHex(gas) }
  const around = surroundings === undefined ? [] : [surroundings]
  const at = tagOf(block)
  if (to === undefined || code === undefined)
    return around.length === 0 ? [transaction, at] : [transaction, at, {}, ...around]
  const codes = Object.entries({ [to]: code, ...others }).map(([address, each]) => [address, { code: each }])
  return [transaction, at, Object.fromEntries(codes), ...around]
}

/** A block as a JSON-RPC parameter: a tag, a height, or an object with its hash (EIP-1898). */
function tagOf(block: CallBlock): unknown {
  if (typeof block === 'bigint') return toHex(block)
  return block === 'latest' ? block : { blockHash: block.hash }
}
