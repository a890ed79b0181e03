import type { Hex } from 'viem'
import type { Endpoint } from './client.ts'

/** The block that an answer was read at, as the chain itself told it in the very call that read. */
export interface ReadBlock {
  readonly chainId: number
  readonly number: bigint
  readonly timestampSec: bigint
  /** A call cannot know the hash of its own block: this is the hash of the one before, which ties it to one fork. */
  readonly parentHash: Hex
}

/**
 * The latest block, for readings in stages that pin it; the client has checked that the endpoint serves the chain.
 * Reads `eth_getBlockByNumber`. Throws as `Endpoint.request` and `Endpoint.observeBlock`.
 */
export async function readLatestBlock(endpoint: Endpoint, chainId: number, signal: AbortSignal): Promise<ReadBlock> {
  const header = await endpoint.request(
    { method: 'eth_getBlockByNumber', params: ['latest', false], parse: parseHeader },
    signal,
  )
  const block = { chainId, ...header }
  endpoint.observeBlock(block)
  return block
}

function parseHeader(result: unknown): Omit<ReadBlock, 'chainId'> {
  const { number, timestamp, parentHash } = (result ?? {}) as Readonly<Record<string, unknown>>
  const isQuantity = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(value)
  if (!isQuantity(number) || !isQuantity(timestamp)) throw new TypeError('Cannot read the block header')
  if (typeof parentHash !== 'string' || !/^0x[0-9a-f]{64}$/i.test(parentHash)) {
    throw new TypeError('Cannot read the block header: expected a parent hash')
  }
  return { number: BigInt(number), timestampSec: BigInt(timestamp), parentHash: parentHash.toLowerCase() as Hex }
}
