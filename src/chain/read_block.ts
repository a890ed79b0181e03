import { type Hex, toHex } from 'viem'
import { UpstreamError } from '../lib/error.ts'
import type { PinnedBlock } from './block.ts'
import type { Endpoint } from './rpc/client.ts'

/**
 * The latest block, for readings of several calls that pin it; the client has checked that the endpoint serves the
 * chain. Reads `eth_getBlockByNumber`. Throws as `Endpoint.request` and `Endpoint.observeBlock`.
 */
export async function readLatestBlock(endpoint: Endpoint, chainId: number, signal: AbortSignal): Promise<PinnedBlock> {
  const header = await endpoint.request(
    { method: 'eth_getBlockByNumber', params: ['latest', false], parse: parseHeader },
    signal,
  )
  const block = { chainId, ...header }
  endpoint.observeBlock(block)
  return block
}

/** A tag, a height, or a hash. */
export type BlockName = 'safe' | 'finalized' | bigint | { readonly hash: Hex }

/**
 * The header of any block; undefined if the endpoint does not have it. It may be of another chain's fork: the caller
 * compares its hash. Throws as `Endpoint.request`, and `UpstreamError` if the endpoint answers with another block.
 */
export async function readHeader(
  endpoint: Pick<Endpoint, 'request'>,
  { chainId, at }: { readonly chainId: number; readonly at: BlockName },
  signal: AbortSignal,
): Promise<PinnedBlock | undefined> {
  const [method, name] =
    typeof at === 'object'
      ? ['eth_getBlockByHash', at.hash]
      : ['eth_getBlockByNumber', typeof at === 'bigint' ? toHex(at) : at]
  const parse = (result: unknown) => (result === null ? undefined : parseHeader(result))
  const header = await endpoint.request({ method, params: [name, false], parse }, signal)
  if (header === undefined) return undefined
  const isAnother = typeof at === 'object' ? header.hash !== at.hash : typeof at === 'bigint' && header.number !== at
  if (isAnother) throw new UpstreamError('The endpoint answered with another block')
  return { chainId, ...header }
}

function parseHeader(result: unknown): Omit<PinnedBlock, 'chainId'> {
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
