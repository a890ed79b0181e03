import { type Address, toFunctionSelector, toHex } from 'viem'
import { readMulticall } from '../../../../chain/call/many/multicall.ts'
import { tryDecodeUint } from '../../../../chain/call/words.ts'
import { readLatestBlock } from '../../../../chain/evm/read_block.ts'
import type { Endpoint } from '../../../../chain/rpc/client.ts'
import { parseQuantity } from '../../../../chain/rpc/value.ts'
import type { Clock } from '../../../../lib/clock.ts'

/** Storage slot of a manager's counters: `uint176 _nextId`, then `uint80 _nextPoolId`, both from 1 on. */
const COUNTERS_SLOT = toHex(13, { size: 32 })
const NEXT_ID_BITS = 176
const TOTAL_SUPPLY = toFunctionSelector('totalSupply()')

/**
 * Reads the next id that a manager will assign. Undefined if the slot cannot hold its counters: each pool came with a
 * first position, and no position has two ids. Source: `NonfungiblePositionManager`.
 */
export async function readNextId(
  endpoint: Endpoint,
  { manager, chainId, clock }: { readonly manager: Address; readonly chainId: number; readonly clock: Clock },
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const block = await readLatestBlock(endpoint, chainId, signal)
  const params = [manager, COUNTERS_SLOT, { blockHash: block.hash }]
  const [counters, { results }] = await Promise.all([
    endpoint.request({ method: 'eth_getStorageAt', params, parse: parseQuantity }, signal),
    readMulticall(endpoint, { calls: [{ to: manager, data: TOTAL_SUPPLY }], block, clock }, signal),
  ])
  const [nextId, nextPoolId] = [BigInt.asUintN(NEXT_ID_BITS, counters), counters >> BigInt(NEXT_ID_BITS)]
  const supply = tryDecodeUint(results[0])
  const areCounters = nextPoolId > 0n && nextPoolId <= nextId && supply !== undefined && supply < nextId
  return areCounters ? nextId : undefined
}
