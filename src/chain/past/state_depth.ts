import { type Hex, toHex } from 'viem'
import type { Work } from '../../lib/async/work.ts'
import { parseHeader } from '../evm/read_block.ts'
import type { Endpoint } from '../rpc/client.ts'
import { parseQuantity } from '../rpc/value.ts'
import { type CanaryMemory, examineStateByRequests } from './state_canary.ts'

/** An address without a key or a contract, so requests about it are cheap. */
export const UNUSED_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d2d2d6e6f6e'
/** Depths to probe, blocks before the head; the first block is probed before them. */
const DEPTHS = [100n, 1_000n, 10_000n, 100_000n, 1_000_000n] as const
const FIRST_BLOCK = 1n

/**
 * Reads how many blocks back the endpoint has state, with a few small requests at each of at most six blocks. A state
 * counts unless the endpoint fails or shows another one: of a block that says nothing the endpoint is believed, but
 * then not of those above it that do.
 */
export async function readStateDepth(
  endpoint: Pick<Endpoint, 'request'>,
  head: bigint,
  work: Work,
): Promise<bigint | 'all'> {
  const memory: CanaryMemory = {}
  /** Whether the endpoint has the state of a block; undefined if only its word says so. */
  const hasState = async (number: bigint): Promise<boolean | undefined> => {
    const params = [UNUSED_ADDRESS, toHex(number)]
    try {
      await endpoint.request({ method: 'eth_getBalance', params, parse: parseQuantity }, work)
    } catch (error) {
      if (work.signal.aborted) throw error
      return false
    }
    try {
      const parse = (result: unknown) => parseHeader(result, number)
      const block = await endpoint.request(
        { method: 'eth_getBlockByNumber', params: [toHex(number), false], parse },
        work,
      )
      const evidence = block && (await examineStateByRequests(endpoint, { block, memory }, work))
      return evidence === 'proven' ? true : evidence === 'refuted' ? false : undefined
    } catch (error) {
      if (work.signal.aborted) throw error
      return undefined
    }
  }
  let isFirstUntold = false
  const depth = await searchDepth(head, async (block) => {
    const verdict = await hasState(block)
    // The first block has nothing to show on most chains: then the blocks below the head decide.
    if (verdict === undefined && block === FIRST_BLOCK) isFirstUntold = true
    return verdict ?? block !== FIRST_BLOCK
  })
  const deepest = DEPTHS.findLast((each) => each < head) ?? 0n
  return isFirstUntold && depth === deepest ? 'all' : depth
}

/** Searches how many blocks back `holds` is true, without testing the head; `all` if it is true at the first block. */
export async function searchDepth(head: bigint, holds: (block: bigint) => Promise<boolean>): Promise<bigint | 'all'> {
  if (await holds(FIRST_BLOCK < head ? FIRST_BLOCK : head)) return 'all'
  let deepest = 0n
  for (const depth of DEPTHS) {
    if (depth >= head || !(await holds(head - depth))) break
    deepest = depth
  }
  return deepest
}
