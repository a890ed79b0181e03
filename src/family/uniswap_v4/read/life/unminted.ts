import { type Address, toFunctionSelector } from 'viem'
import { readCalls } from '../../../../chain/call/many/read_calls.ts'
import { uintIn } from '../../../../chain/call/words.ts'
import type { ChainClient } from '../../../../chain/rpc/client.ts'
import type { Clock } from '../../../../lib/clock.ts'

const NEXT_ID = toFunctionSelector('nextTokenId()')

/**
 * True if the manager has not minted an id up to now: ids are given out in sequence, from 1 on. False if it has, or if
 * that cannot be told, so that its logs must. Throws `AbortedError` if `signal` fires. Source: v4-periphery
 * `PositionManager.nextTokenId`.
 */
export async function isUnminted(
  question: {
    readonly client: ChainClient
    readonly manager: Address
    readonly tokenId: bigint
    readonly clock: Clock
  },
  signal: AbortSignal,
): Promise<boolean> {
  const { client, manager, tokenId, clock } = question
  if (tokenId === 0n) return true
  const calls = [{ to: manager, data: NEXT_ID }]
  const block = { chainId: client.chain.id }
  try {
    const { results } = await client.read((endpoint, within) => readCalls(endpoint, { calls, block, clock }, within), {
      signal,
    })
    const next = uintIn(results[0])
    return next !== undefined && next > 0n && tokenId >= next
  } catch (error) {
    if (signal.aborted) throw error
    return false
  }
}
