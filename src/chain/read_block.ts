import type { Hex } from 'viem'
import type { PinnedBlock } from './block.ts'
import type { Endpoint } from './rpc/client.ts'
import { MissingBlockError } from './rpc/error.ts'

/** Which block of which chain to read. */
interface BlockQuestion {
  readonly chainId: number
  readonly number: bigint | 'latest'
}

/**
 * The header of a block, whatever its age. Reads `eth_getBlockByNumber`. Throws `MissingBlockError` if the endpoint has
 * no such block, else as `Endpoint.request`.
 */
export async function readBlock(
  endpoint: Endpoint,
  { chainId, number }: BlockQuestion,
  signal: AbortSignal,
): Promise<PinnedBlock> {
  const tag = number === 'latest' ? number : `0x${number.toString(16)}`
  const header = await endpoint.request(
    { method: 'eth_getBlockByNumber', params: [tag, false], parse: (result) => parseHeader(result, number) },
    signal,
  )
  if (header === undefined) throw new MissingBlockError('The endpoint does not have the block')
  return { chainId, ...header }
}

/**
 * The latest block, for readings of several calls that pin it; the client has checked that the endpoint serves the
 * chain. Throws as `readBlock` and `Endpoint.observeBlock`.
 */
export async function readLatestBlock(endpoint: Endpoint, chainId: number, signal: AbortSignal): Promise<PinnedBlock> {
  const block = await readBlock(endpoint, { chainId, number: 'latest' }, signal)
  endpoint.observeBlock(block)
  return block
}

function parseHeader(result: unknown, asked: bigint | 'latest'): Omit<PinnedBlock, 'chainId'> | undefined {
  if (result === null && asked !== 'latest') return undefined
  const { number, timestamp, parentHash, hash } = (result ?? {}) as Readonly<Record<string, unknown>>
  const isQuantity = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(value)
  if (!isQuantity(number) || !isQuantity(timestamp)) throw new TypeError('Cannot read the block header')
  if (asked !== 'latest' && BigInt(number) !== asked) throw new TypeError('Cannot read the block header: it is another')
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
