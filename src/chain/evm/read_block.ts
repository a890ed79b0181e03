import type { Hex } from 'viem'
import type { Work } from '../../lib/async/work.ts'
import type { PinnedBlock } from '../block.ts'
import type { Endpoint } from '../rpc/client.ts'
import { EndpointError } from '../rpc/error.ts'
import { parseLowerWord } from '../rpc/value.ts'

export type BlockId = 'latest' | 'safe' | 'finalized' | bigint | { readonly hash: Hex }

/**
 * Reads the header of a block of any age (`eth_getBlockByNumber`). Throws `EndpointError` (no_block) if the endpoint
 * does not have the block, else as `Endpoint.request`.
 */
export async function readBlock(
  endpoint: Endpoint,
  { chainId, number }: { readonly chainId: number; readonly number: bigint | 'latest' },
  work: Work,
): Promise<PinnedBlock> {
  const header = await readHeader(endpoint, { chainId, at: number }, work)
  if (header === undefined) throw new EndpointError('no_block', 'The endpoint does not have the block')
  return header
}

/**
 * Reads the latest block, to which several calls are pinned; the client has checked that the endpoint serves the chain.
 * Throws as `readBlock` and `Endpoint.observeBlock`.
 */
export async function readLatestBlock(endpoint: Endpoint, chainId: number, work: Work): Promise<PinnedBlock> {
  const block = await readBlock(endpoint, { chainId, number: 'latest' }, work)
  endpoint.observeBlock(block)
  return block
}

/**
 * Reads the header of a block by tag, height or hash (`eth_getBlockByNumber`, `eth_getBlockByHash`); undefined if the
 * endpoint does not have the block. Throws as `Endpoint.request`.
 */
export async function readHeader(
  endpoint: Pick<Endpoint, 'request'>,
  { chainId, at }: { readonly chainId: number; readonly at: BlockId },
  work: Work,
): Promise<PinnedBlock | undefined> {
  const [method, name] =
    typeof at === 'object'
      ? ['eth_getBlockByHash', at.hash]
      : ['eth_getBlockByNumber', typeof at === 'bigint' ? `0x${at.toString(16)}` : at]
  const parse = (result: unknown) => parseHeader(result, at)
  const header = await endpoint.request({ method, params: [name, false], parse }, work)
  return header === undefined ? undefined : { chainId, ...header }
}

/**
 * Parses the fields of a header that reads need; undefined if there is no block. Throws `TypeError` if the block is not
 * the requested one.
 */
export function parseHeader(result: unknown, blockId: BlockId): Omit<PinnedBlock, 'chainId'> | undefined {
  if (result === null && blockId !== 'latest') return undefined
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
    typeof blockId === 'object'
      ? header.hash !== blockId.hash
      : typeof blockId === 'bigint' && header.number !== blockId
  if (isAnother) throw new TypeError('Cannot read the block header: it is another')
  return header
}
