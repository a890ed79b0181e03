import type { Hex } from 'viem'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { UpstreamError } from '../../lib/error.ts'
import { type Block, matchesBlock, type PinnedBlock } from '../block.ts'
import { readLatestBlock } from '../evm/read_block.ts'
import { type Endpoint, lensUnsupportedError, RevertError, RpcRefusedError } from '../rpc/client.ts'
import { callBundled, callByOverride, type LensCall } from './bundle/bundle.ts'
import { callDeployless } from './deployless.ts'

const CALL_LENS = { override: callByOverride, deployless: callDeployless } as const

/** Mode of running a lens: as the code of an address by state override, or deployed within the call. */
export type LensMode = keyof typeof CALL_LENS

/** All modes, best first. */
export const LENS_MODES: readonly LensMode[] = ['override', 'deployless']

interface LensCallParams extends Omit<LensCall, 'runtime'> {
  /** True if the call needs at most 20 million gas, so that it may be bundled. */
  readonly isLight?: boolean
}

/** A lens at one endpoint in one mode. */
export interface LensAccess {
  readonly mode: LensMode
  call(question: LensCallParams): Promise<Hex>
  /** The past block to read at; undefined for the newest. */
  readonly at: PinnedBlock | undefined
  /** Returns the block to pin several calls to: the past or the newest block. Throws as `readLatestBlock`. */
  pin(): Promise<PinnedBlock>
  /**
   * Checks the block of an answer that was not pinned by `pin`. Throws if it cannot be the newest block, or if it is
   * not the past block.
   */
  observeBlock(block: Block): void
}

export interface LensReading<T> {
  /** Key of the lens in an endpoint's `learned` map. */
  readonly topic: string
  readonly runtime: Hex
  readonly chainId: number
  /** Absent: the newest block. */
  readonly at?: PinnedBlock | undefined
  /** @default all */
  readonly modes?: readonly LensMode[] | undefined
  readonly clock: Clock
  readonly read: (lens: LensAccess) => Promise<T>
}

/** How long a fallback mode is used before the best mode is tried again. */
const LEARNED_MS = 10 * 60_000

/**
 * Reads in the mode that worked last on this endpoint, else in the best one. Tries the next mode if the endpoint
 * refuses or the lens reverts without a reason, as it does when it runs out of gas or meets an unknown opcode. A
 * fallback mode is remembered for ten minutes, unless a better one was refused only for this request's size. When no
 * mode works, throws `RpcRefusedError` (lens) if the endpoint supports none of them, else the last error. A revert
 * becomes an `UpstreamError`: lenses never revert with a reason, so the answer is wrong and another endpoint may be
 * right.
 */
export async function readByLens<T>(endpoint: Endpoint, reading: LensReading<T>, work: Work): Promise<T> {
  const { topic, modes = LENS_MODES, clock, read } = reading
  const entry = endpoint.learned.get(topic)
  const learned = entry !== undefined && entry.untilMs > clock.monotonicMs() ? entry.value : undefined
  const order = [...modes].sort((a, b) => Number(b === learned) - Number(a === learned))
  let last: unknown
  let mayLearn = true
  for (const mode of order) {
    try {
      const answer = await read(createAccess(endpoint, reading, mode, work))
      if (mode !== learned && mayLearn) {
        // The best mode is tried first by default, so it need not be remembered.
        if (mode === modes[0]) endpoint.learned.delete(topic)
        else endpoint.learned.set(topic, { value: mode, untilMs: clock.monotonicMs() + LEARNED_MS })
      }
      return answer
    } catch (error) {
      const isUnsupported = error instanceof RpcRefusedError && error.reason === 'kind'
      const isEmptyRevert = error instanceof RevertError && error.data === '0x'
      last = error instanceof RevertError ? new UpstreamError('The lens reverted', { cause: error }) : error
      if (!(error instanceof RpcRefusedError) && !isEmptyRevert) throw last
      if (!isUnsupported) mayLearn = false
    }
  }
  if (last === undefined) throw new UpstreamError(`Cannot read "${topic}": no way of reading is left`)
  throw mayLearn && last instanceof RpcRefusedError ? lensUnsupportedError(last) : last
}

function createAccess(
  endpoint: Endpoint,
  { runtime, chainId, at }: Omit<LensReading<unknown>, 'read'>,
  mode: LensMode,
  work: Work,
): LensAccess {
  return {
    mode,
    call({ isLight = false, ...question }) {
      const callLens = mode === 'override' && isLight ? callBundled : CALL_LENS[mode]
      return callLens(endpoint, { runtime, ...question }, work)
    },
    at,
    pin: async () => at ?? (await readLatestBlock(endpoint, chainId, work)),
    observeBlock(block) {
      if (at === undefined) endpoint.observeBlock(block)
      else if (!matchesBlock(block, at))
        throw new UpstreamError('The endpoint answers from another block than it was asked')
    },
  }
}
