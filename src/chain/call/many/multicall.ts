import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { type Block, isSameBlock, type PinnedBlock } from '../../block.ts'
import { type CallBlock, type Endpoint, RpcRefusedError } from '../../rpc/client.ts'
import { decodeLensPage } from '../cursor.ts'
import { type LensReading, readByLens } from '../lens.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** One read-only question to a contract. */
export interface ContractCall {
  readonly to: Address
  readonly data: Hex
}

/** What it returned, its first 8 KiB; undefined if it reverted. A contract that is not there returns nothing, `0x`. */
export type ReturnData = Hex | undefined

/** Results in the order of the calls, and the block that all of them are of. */
interface CallResults {
  readonly results: readonly ReturnData[]
  readonly block: Block
}

/** A block by its number, and by its hash if it may still be replaced; by its chain alone: the newest. */
type AskedBlock = Pick<Block, 'chainId'> | (Pick<Block, 'chainId' | 'number'> & Partial<Pick<PinnedBlock, 'hash'>>)

const ABI = parseAbi(['function read(address[] targets, bytes[] questions)'])
/** Questions in one call: they share its gas, and a deployless call has less of it and of bytes. */
const PAGE_SIZES = { override: 150, deployless: 40 } as const

/**
 * Asks many contracts at one block, in as few calls as fit; the newest is pinned only if one call is not enough. Throws
 * as `readByLens`, `UpstreamError` if an answer is of another block or the newest cannot be right, `RpcRefusedError` if
 * the endpoint has not gas enough for one question.
 */
export async function readMulticall(
  endpoint: Endpoint,
  question: {
    readonly calls: readonly ContractCall[]
    readonly block: AskedBlock
    /** True if they take little gas, so that they may leave in one request with others. @default {false} */
    readonly isLight?: boolean
    readonly clock: Clock
  },
  signal: AbortSignal,
): Promise<CallResults> {
  const { calls, block, isLight = false, clock } = question
  const { chainId } = block
  const reading: LensReading<CallResults> = {
    topic: 'calls',
    runtime: LENS_RUNTIME,
    chainId,
    clock,
    async read({ way, call, pin, observeBlock }) {
      const readPage = async (asked: readonly ContractCall[], at: CallBlock) => {
        const args = [asked.map(({ to }) => to), asked.map(({ data }) => data)] as const
        const data = encodeFunctionData({ abi: ABI, functionName: 'read', args })
        return decodePage(await call({ data, block: at, isLight }))
      }
      if (!('number' in block) && calls.length <= PAGE_SIZES[way]) {
        const page = await readPage(calls, 'latest')
        observeBlock(page.block)
        // If there was gas for some of them only, all are asked again, so that they are of one block.
        if (page.results.length === calls.length) return page
      }
      const { number, hash } = 'number' in block ? block : await pin()
      const results: ReturnData[] = []
      let first: Block | undefined
      do {
        const asked = calls.slice(results.length, results.length + PAGE_SIZES[way])
        const page = await readPage(asked, hash === undefined ? number : { hash })
        first ??= page.block
        if (page.block.chainId !== chainId || page.block.number !== number || !isSameBlock(page.block, first)) {
          throw new UpstreamError('The endpoint answered from another block than it was asked')
        }
        if (page.results.length === 0 && asked.length > 0) {
          throw new RpcRefusedError(0, 'The endpoint allows too little gas for one question', 'size')
        }
        results.push(...page.results)
      } while (results.length < calls.length)
      return { results, block: first }
    },
  }
  return await readByLens(endpoint, reading, signal)
}

function decodePage(answer: Hex): CallResults {
  const { from, block, taken } = decodeLensPage(answer)
  const results = Array.from({ length: taken }, (): ReturnData => {
    const ok = from.number(1) === 1
    const bytes = from.hex(from.number(2))
    return ok ? bytes : undefined
  })
  return { block, results }
}
