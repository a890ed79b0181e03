import { type Address, toFunctionSelector } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { tryDecodeUint } from '../../../../chain/call/words.ts'
import type { Endpoint } from '../../../../chain/rpc/client.ts'
import type { Clock } from '../../../../lib/clock.ts'

const NEXT_ID = toFunctionSelector('nextTokenId()')

/** Reads the next id to be minted; undefined if the call fails. Source: v4-periphery `PositionManager.nextTokenId`. */
export async function readNextId(
  endpoint: Endpoint,
  { manager, chainId, clock }: { readonly manager: Address; readonly chainId: number; readonly clock: Clock },
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const calls = [{ to: manager, data: NEXT_ID }]
  const { results } = await readMulticall(endpoint, { calls, block: { chainId }, clock }, signal)
  const next = tryDecodeUint(results[0])
  return next === 0n ? undefined : next
}
