import type { Hex } from 'viem'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { type Block, isAtBlock, type PinnedBlock } from '../block.ts'
import { readLatestBlock } from '../read_block.ts'
import { type Endpoint, IncapableError, RevertError, RpcRefusedError } from '../rpc/client.ts'
import { callTogether } from './bundle/bundle.ts'
import { deploylessCode, readDeploylessAnswer } from './deployless.ts'
import { callByOverride, type LensCall } from './override.ts'

/** Runs a lens with this call data at this block, in the way of its rung. */
type CallLens = (call: LensQuestion) => Promise<Hex>

/** What a lens is asked. */
interface LensQuestion extends Omit<LensCall, 'runtime'> {
  /** True if 20 million gas are enough for it, so that it may share an `eth_call` with others. */
  readonly isLight?: boolean
}

/** How a lens is asked on one rung of one endpoint. */
export interface LensAccess {
  readonly call: CallLens
  /** The past block that is read at; undefined for the newest. */
  readonly at: PinnedBlock | undefined
  /** The block for calls that must all see one: the past one, or the newest's header. Throws as `readLatestBlock`. */
  pin(): Promise<PinnedBlock>
  /**
   * Receives the block of an answer that was not pinned by `pin`. Throws if the newest block cannot be right, or if it
   * is not the past block.
   */
  observeBlock(block: Block): void
}

const CALL_LENS = { override: callByOverride, deployless: callDeployless } as const

/** Ways of running a lens: as the code of an address by state override, or deployed in the call that asks it. */
export type LensWay = keyof typeof CALL_LENS

/** Every way, best first. */
export const LENS_WAYS: readonly LensWay[] = ['override', 'deployless']

/** One way of reading, best first in a ladder. */
export interface Rung<T> {
  /** Names it among the topic's rungs. */
  readonly name: string
  run(signal: AbortSignal): Promise<T>
}

/** How long a lower rung is used before the best one is tried again. */
const LEARNED_MS = 10 * 60_000

/**
 * `eth_call` of init code that deploys `runtime`, calls it with `data` and reverts with the outcome, so that the answer
 * has no limit. Throws `RpcRefusedError` before sending if code and arguments are longer than init code may be (49,152
 * bytes in all), and after it if the endpoint loses the answer; `RevertError` as the lens does.
 */
export async function callDeployless(endpoint: Endpoint, call: LensCall, signal: AbortSignal): Promise<Hex> {
  const { runtime, data, block } = call
  const code = deploylessCode(runtime, data)
  try {
    await endpoint.call({ data: code, block }, signal)
  } catch (error) {
    if (error instanceof RevertError) return readDeploylessAnswer(error.data)
    throw error
  }
  throw new RpcRefusedError(0, 'The endpoint did not execute the init code')
}

/** The ladder of a read by a lens, in the order of `ways`. */
export function ladderOf<T>(options: {
  readonly ways: readonly LensWay[]
  readonly endpoint: Endpoint
  readonly chainId: number
  /** Absent: the newest block. */
  readonly at?: PinnedBlock | undefined
  /** Runtime bytecode of the lens. */
  readonly runtime: Hex
  readonly byLens: (access: LensAccess, way: LensWay) => Promise<T>
}): Rung<T>[] {
  const { ways, endpoint, chainId, at, runtime, byLens } = options
  const observeBlock = (block: Block): void => {
    if (at === undefined) endpoint.observeBlock(block)
    else if (!isAtBlock(block, at)) throw new UpstreamError('The endpoint answers from another block than it was asked')
  }
  return ways.map((name) => ({
    name,
    run(signal) {
      const call: CallLens = ({ data, block, isLight = false }) => {
        const callLens = name === 'override' && isLight ? callTogether : CALL_LENS[name]
        return callLens(endpoint, { runtime, data, block }, signal)
      }
      const pin = async () => at ?? (await readLatestBlock(endpoint, chainId, signal))
      return byLens({ call, at, pin, observeBlock }, name)
    },
  }))
}

/**
 * Reads by the rung that worked last on this endpoint, else by the best one. Goes down the ladder if the endpoint
 * refuses or a rung reverts without a reason, which is what a node answers if a lens runs out of gas or meets an
 * unknown opcode. A lower rung is remembered for ten minutes, unless a better one was refused only for this request's
 * size. When no rung works, throws `IncapableError` if the endpoint supports none of them, else the last error. A
 * revert is then an `UpstreamError`: our own code never reverts with a reason, so the endpoint answers wrongly and
 * another one may do better.
 */
export async function readByRung<T>(
  endpoint: Endpoint,
  { topic, rungs, clock }: { readonly topic: string; readonly rungs: readonly Rung<T>[]; readonly clock: Clock },
  signal: AbortSignal,
): Promise<T> {
  const known = endpoint.learned.get(topic)
  const learned = known !== undefined && known.untilMs > clock.monotonicMs() ? known.value : undefined
  const order = [...rungs].sort((a, b) => Number(b.name === learned) - Number(a.name === learned))
  let last: unknown
  let mayLearn = true
  for (const rung of order) {
    try {
      const answer = await rung.run(signal)
      if (rung.name !== learned && mayLearn) {
        // The best rung is tried first anyway.
        if (rung === rungs[0]) endpoint.learned.delete(topic)
        else endpoint.learned.set(topic, { value: rung.name, untilMs: clock.monotonicMs() + LEARNED_MS })
      }
      return answer
    } catch (error) {
      const unsupported = error instanceof RpcRefusedError && error.reason === 'kind'
      const silent = error instanceof RevertError && error.data === '0x'
      last = error instanceof RevertError ? new UpstreamError('The lens reverted', { cause: error }) : error
      if (!(error instanceof RpcRefusedError) && !silent) throw last
      if (!unsupported) mayLearn = false
    }
  }
  if (last === undefined) throw new UpstreamError(`Cannot read "${topic}": no way of reading is left`)
  throw mayLearn && last instanceof RpcRefusedError ? new IncapableError(last) : last
}
