import type { Hex } from 'viem'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { type Block, matchesBlock, type PinnedBlock } from '../block.ts'
import { readLatestBlock } from '../evm/read_block.ts'
import { type Endpoint, LensUnsupportedError, RevertError, RpcRefusedError } from '../rpc/client.ts'
import { callBundled, callByOverride, type LensCall } from './bundle/bundle.ts'
import { callDeployless } from './deployless.ts'

const CALL_LENS = { override: callByOverride, deployless: callDeployless } as const

/** Ways of running a lens: as the code of an address by state override, or deployed in the call that asks it. */
export type LensMode = keyof typeof CALL_LENS

/** Every way, best first. */
export const LENS_MODES: readonly LensMode[] = ['override', 'deployless']

interface LensCallParams extends Omit<LensCall, 'runtime'> {
  /** True if 20 million gas are enough for it, so that it may share an `eth_call` with others. */
  readonly isLight?: boolean
}

/** A lens at one endpoint, run in one of the ways. */
export interface LensAccess {
  readonly way: LensMode
  call(question: LensCallParams): Promise<Hex>
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

export interface LensReading<T> {
  /** Names the lens in what is learned about an endpoint. */
  readonly topic: string
  readonly runtime: Hex
  readonly chainId: number
  /** Absent: the newest block. */
  readonly at?: PinnedBlock | undefined
  /** @default all */
  readonly ways?: readonly LensMode[] | undefined
  readonly clock: Clock
  readonly read: (lens: LensAccess) => Promise<T>
}

/** How long a lower rung is used before the best one is tried again. */
const LEARNED_MS = 10 * 60_000

/**
 * Reads in the way that worked last on this endpoint, else in the best one. Goes on to the next way if the endpoint
 * refuses or the lens reverts without a reason, which is what a node answers if a lens runs out of gas or meets an
 * unknown opcode. A lesser way is remembered for ten minutes, unless a better one was refused only for this request's
 * size. When no way works, throws `LensUnsupportedError` if the endpoint supports none of them, else the last error. A
 * revert is then an `UpstreamError`: our own code never reverts with a reason, so the endpoint answers wrongly and
 * another one may do better.
 */
export async function readByLens<T>(endpoint: Endpoint, reading: LensReading<T>, signal: AbortSignal): Promise<T> {
  const { topic, ways = LENS_MODES, clock, read } = reading
  const known = endpoint.learned.get(topic)
  const learned = known !== undefined && known.untilMs > clock.monotonicMs() ? known.value : undefined
  const order = [...ways].sort((a, b) => Number(b === learned) - Number(a === learned))
  let last: unknown
  let mayLearn = true
  for (const way of order) {
    try {
      const answer = await read(lensAt(endpoint, reading, way, signal))
      if (way !== learned && mayLearn) {
        // The best way is tried first anyway.
        if (way === ways[0]) endpoint.learned.delete(topic)
        else endpoint.learned.set(topic, { value: way, untilMs: clock.monotonicMs() + LEARNED_MS })
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
  throw mayLearn && last instanceof RpcRefusedError ? new LensUnsupportedError(last) : last
}

function lensAt(
  endpoint: Endpoint,
  { runtime, chainId, at }: Omit<LensReading<unknown>, 'read'>,
  way: LensMode,
  signal: AbortSignal,
): LensAccess {
  return {
    way,
    call({ isLight = false, ...question }) {
      const callLens = way === 'override' && isLight ? callBundled : CALL_LENS[way]
      return callLens(endpoint, { runtime, ...question }, signal)
    },
    at,
    pin: async () => at ?? (await readLatestBlock(endpoint, chainId, signal)),
    observeBlock(block) {
      if (at === undefined) endpoint.observeBlock(block)
      else if (!matchesBlock(block, at))
        throw new UpstreamError('The endpoint answers from another block than it was asked')
    },
  }
}
