import { toFunctionSelector, toHex } from 'viem'
import { readCalls } from '../../../../chain/call/many/read_calls.ts'
import { uintIn } from '../../../../chain/call/words.ts'
import { readLatestBlock } from '../../../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import { parseQuantity } from '../../../../chain/rpc/value.ts'
import type { Clock } from '../../../../lib/clock.ts'
import type { UniswapV3Deployment } from '../../table/deployments.ts'

interface UnmintedQuestion {
  readonly client: ChainClient
  readonly deployment: UniswapV3Deployment
  readonly tokenId: bigint
  readonly clock: Clock
}

/** Where a manager keeps its counters: `uint176 _nextId`, then `uint80 _nextPoolId`, both from 1 on. */
const COUNTERS_SLOT = toHex(13, { size: 32 })
const NEXT_ID_BITS = 176
const TOTAL_SUPPLY = toFunctionSelector('totalSupply()')

/**
 * True if the manager has not minted an id up to now, which its counter tells: ids are given out in sequence. False if
 * it has, or if that cannot be told, so that its logs must. Throws `AbortedError` if `signal` fires.
 * Source: `NonfungiblePositionManager`.
 */
export async function isUnminted(question: UnmintedQuestion, signal: AbortSignal): Promise<boolean> {
  const { client, tokenId } = question
  if (tokenId === 0n) return true
  try {
    const next = await client.read((endpoint, within) => readNextId(endpoint, question, within), { signal })
    return next !== undefined && tokenId >= next
  } catch (error) {
    if (signal.aborted) throw error
    return false
  }
}

/** Undefined if what stands there cannot be the counters: each pool came with a first position, and none has two ids. */
async function readNextId(
  endpoint: Endpoint,
  { client, deployment, clock }: UnmintedQuestion,
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const { manager } = deployment
  const block = await readLatestBlock(endpoint, client.chain.id, signal)
  const params = [manager, COUNTERS_SLOT, { blockHash: block.hash }]
  const [counters, { results }] = await Promise.all([
    endpoint.request({ method: 'eth_getStorageAt', params, parse: parseQuantity }, signal),
    readCalls(endpoint, { calls: [{ to: manager, data: TOTAL_SUPPLY }], block, clock }, signal),
  ])
  const [nextId, nextPoolId] = [BigInt.asUintN(NEXT_ID_BITS, counters), counters >> BigInt(NEXT_ID_BITS)]
  const held = uintIn(results[0])
  const areCounters = nextPoolId > 0n && nextPoolId <= nextId && held !== undefined && held < nextId
  return areCounters ? nextId : undefined
}
