import { type Hex, toHex } from 'viem'
import type { Endpoint } from '../rpc/client.ts'
import { parseQuantity } from '../rpc/value.ts'

/** An address without a key or a contract, so requests about it are cheap. */
export const UNUSED_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d2d2d6e6f6e'
/** Depths to probe, blocks before the head; the first block is probed before them. */
const DEPTHS = [100n, 1_000n, 10_000n, 100_000n, 1_000_000n] as const
const FIRST_BLOCK = 1n

/** Reads how many blocks back the endpoint has state, with at most seven small requests. A failure counts as no. */
export function readStateDepth(
  endpoint: Pick<Endpoint, 'request'>,
  head: bigint,
  signal: AbortSignal,
): Promise<bigint | 'all'> {
  return searchDepth(head, async (block) => {
    const params = [UNUSED_ADDRESS, toHex(block)]
    try {
      await endpoint.request({ method: 'eth_getBalance', params, parse: parseQuantity }, signal)
      return true
    } catch (error) {
      if (signal.aborted) throw error
      return false
    }
  })
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
