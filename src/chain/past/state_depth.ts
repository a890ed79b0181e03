import { type Hex, toHex } from 'viem'
import type { Endpoint } from '../rpc/client.ts'
import { parseQuantity } from '../rpc/value.ts'

/** No key has this address, and no contract emits from it: questions about it are cheap. */
export const UNUSED_ADDRESS: Hex = '0x77616c6c657473636f70652d2d2d2d2d2d6e6f6e'
/** How many blocks back something is asked for; then the first block. */
const DEPTHS = [100n, 1_000n, 10_000n, 100_000n, 1_000_000n] as const
const FIRST_BLOCK = 1n

/** How many blocks back the endpoint keeps state, by seven small questions at most. Doubts count as no. */
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

/** How many blocks back something holds, the newest not asked; `all` if it holds at the first block. */
export async function searchDepth(head: bigint, holds: (block: bigint) => Promise<boolean>): Promise<bigint | 'all'> {
  if (await holds(FIRST_BLOCK < head ? FIRST_BLOCK : head)) return 'all'
  let deepest = 0n
  for (const depth of DEPTHS) {
    if (depth >= head || !(await holds(head - depth))) break
    deepest = depth
  }
  return deepest
}
