import type { Hex } from 'viem'
import type { PinnedBlock } from '../block.ts'
import type { Endpoint } from '../rpc/client.ts'
import { MissingBlockError } from '../rpc/error.ts'
import { parseLowerWord } from '../rpc/value.ts'

export type BlockId = 'latest' | 'safe' | 'finalized' | bigint | { readonly hash: Hex }

/**
 * The header of a block, whatever its age. Reads `eth_getBlockByNumber`. Throws `MissingBlockError` if the endpoint has
 * no such block, else as `Endpoint.request`.
 */
export async function readBlock(
  endpoint: Endpoint,
  { chainId, number }: { readonly chainId: number; readonly number: bigint | 'latest' },
  signal: AbortSignal,
): Promise<PinnedBlock> {
  const header = await readHeader(endpoint, { chainId, at: number }, signal)
  if (header === undefined) throw new MissingBlockError('The endpoint does not have the block')
  return header
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

/**
 * The header of a block by any of its names; undefined if the endpoint does not have it. Reads `eth_getBlockByNumber`
 * or `eth_getBlockByHash`. Throws as `Endpoint.request`.
 */
export async function readHeader(
  endpoint: Pick<Endpoint, 'request'>,
  { chainId, at }: { readonly chainId: number; readonly at: BlockId },
  signal: AbortSignal,
): Promise<PinnedBlock | undefined> {
  const [method, name] =
    typeof at === 'object'
      ? ['eth_getBlockByHash', at.hash]
      : ['eth_getBlockByNumber', typeof at === 'bigint' ? `0x${at.toString(16)}` : at]
  const parse = (result: unknown) => parseHeader(result, at)
  const header = await endpoint.request({ method, params: [name, false], parse }, signal)
  return header === undefined ? undefined : { chainId, ...header }
}

/**
 * What readings need of a header. Undefined if there is none; throws `TypeError` if it is another than was asked for.
 */
export function parseHeader(result: unknown, asked: BlockId): Omit<PinnedBlock, 'chainId'> | undefined {
  if (result === null && asked !== 'latest') return undefined
  const { number, timestamp, parentHash, hash } = (result ?? {}) as Readonly<Record<string, unknown>>
  const isQuantity = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-f]{1,16}$/i.test(value)
  if (!isQuantity(number) || !isQuantity(timestamp)) throw new TypeError('Cannot read the block header')
  const header = {
    number: BigInt(number),
    timestampSec: BigInt(timestamp),
    parentHash: parseLowerWord(parentHash),
    hash: parseLowerWord(hash),
  }
  const isAnother =
    typeof asked === 'object' ? header.hash !== asked.hash : typeof asked === 'bigint' && header.number !== asked
  if (isAnother) throw new TypeError('Cannot read the block header: it is another')
  return header
}
