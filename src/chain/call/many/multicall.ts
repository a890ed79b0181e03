import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { UpstreamError } from '../../../lib/error.ts'
import { type Block, isSameBlock, type PinnedBlock } from '../../block.ts'
import { type CallBlock, type Endpoint, RpcRefusedError } from '../../rpc/client.ts'
import { decodeLensPage } from '../cursor.ts'
import { type LensReading, readByLens } from '../lens.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** One read-only call of a contract. */
export interface ContractCall {
  readonly to: Address
  readonly data: Hex
}

/** The first 8 KiB of the returned data; undefined if the call reverted, `0x` for an address without code. */
export type ReturnData = Hex | undefined

/** Results in the order of the calls, and their common block. */
interface CallResults {
  readonly results: readonly ReturnData[]
  readonly block: Block
}

/** A block by number, and by hash if it may still be replaced; with the chain alone, the newest block. */
type BlockReference = Pick<Block, 'chainId'> | (Pick<Block, 'chainId' | 'number'> & Partial<Pick<PinnedBlock, 'hash'>>)

const ABI = parseAbi(['function read(address[] targets, bytes[] questions)'])
/** Contract calls in one `eth_call`: they share its gas, and a deployless call has less gas and fewer bytes. */
const PAGE_SIZES = { override: 150, deployless: 40 } as const

/**
 * Calls many contracts at one block with as few `eth_call`s as possible; the newest block is pinned only if one is not
 * enough. Throws as `readByLens`, `UpstreamError` if an answer is of another block or cannot be of the newest one,
 * `RpcRefusedError` if the endpoint's gas is too little for one contract call.
 */
export async function readMulticall(
  endpoint: Endpoint,
  question: {
    readonly calls: readonly ContractCall[]
    readonly block: BlockReference
    /** True if the calls take little gas, so that they may be bundled. @default {false} */
    readonly isLight?: boolean
    readonly clock: Clock
  },
  work: Work,
): Promise<CallResults> {
  const { calls, block, isLight = false, clock } = question
  const { chainId } = block
  const reading: LensReading<CallResults> = {
    topic: 'calls',
    runtime: LENS_RUNTIME,
    chainId,
    clock,
    async read({ mode, call, pin, observeBlock }) {
      const readPage = async (requested: readonly ContractCall[], at: CallBlock) => {
        const args = [requested.map(({ to }) => to), requested.map(({ data }) => data)] as const
        const data = encodeFunctionData({ abi: ABI, functionName: 'read', args })
        return decodePage(await call({ data, block: at, isLight }))
      }
      if (!('number' in block) && calls.length <= PAGE_SIZES[mode]) {
        const page = await readPage(calls, 'latest')
        observeBlock(page.block)
        // If the gas was enough for some calls only, all are repeated, so that they share one block.
        if (page.results.length === calls.length) return page
      }
      const { number, hash } = 'number' in block ? block : await pin()
      const results: ReturnData[] = []
      let first: Block | undefined
      do {
        const requested = calls.slice(results.length, results.length + PAGE_SIZES[mode])
        const page = await readPage(requested, hash === undefined ? number : { hash })
        first ??= page.block
        if (page.block.chainId !== chainId || page.block.number !== number || !isSameBlock(page.block, first)) {
          throw new UpstreamError('The endpoint answered from another block than it was asked')
        }
        if (page.results.length === 0 && requested.length > 0) {
          throw new RpcRefusedError(0, 'The endpoint allows too little gas for one question', 'size')
        }
        results.push(...page.results)
      } while (results.length < calls.length)
      return { results, block: first }
    },
  }
  return await readByLens(endpoint, reading, work)
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
