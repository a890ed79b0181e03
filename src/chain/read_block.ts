import type { Hex } from 'viem'
import type { BlockPin, Endpoint } from './client.ts'

/** The block that an answer was read at, as the chain itself told it in the very call that read. */
export interface ReadBlock {
  readonly chainId: number
  readonly number: bigint
  readonly timestampSec: bigint
  /** A call cannot know the hash of its own block: this is the hash of the one before. */
  readonly parentHash: Hex
  /** Known of a block that was pinned. */
  readonly hash?: Hex
}

/** A block that further calls can be made to see. */
export type PinnedBlock = ReadBlock & BlockPin

/**
 * The latest block, for readings of several calls that pin it; the client has checked that the endpoint serves the
 * chain. Reads `eth_getBlockByNumber`. Throws as `Endpoint.request` and `Endpoint.observeBlock`.
 */
export async function readLatestBlock(
  endpoint: Endpoint,
  chainId: number,
  signal: AbortSignal,
): Promise<{ readonly block: ReadBlock; readonly pin: BlockPin }> {
  const { hash, ...header } = await endpoint.request(
    { method: 'eth_getBlockByNumber', params: ['latest', false], parse: parseHeader },
    signal,
  )
  const block = { chainId, ...header }
  endpoint.observeBlock(block)
  return { block, pin: { hash } }
}

/** True if nothing that a call can see of its block tells the two apart. */
export function isSameBlock(a: ReadBlock, b: ReadBlock): boolean {
  const isSameChain = a.chainId === b.chainId && a.parentHash === b.parentHash
  return isSameChain && a.number === b.number && a.timestampSec === b.timestampSec
}

function parseHeader(result: unknown): Omit<ReadBlock, 'chainId'> & BlockPin {
  const { number, timestamp, parentHash, hash } = (result ?? {}) as Readonly<Record<string, unknown>>
  const isQuantity = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(value)
  if (!isQuantity(number) || !isQuantity(timestamp)) throw new TypeError('Cannot read the block header')
  return {
    number: BigInt(number),
    timestampSec: BigInt(timestamp),
    parentHash: parseHash(parentHash),
    hash: parseHash(hash),
  }
}

function parseHash(value: unknown): Hex {
  if (typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value)) return value.toLowerCase() as Hex
  throw new TypeError('Cannot read the block header: expected its hash and that of its parent')
}
