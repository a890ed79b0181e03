import type { Hex } from 'viem'
import type { PinnedBlock } from '../../chain/block.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../chain/rpc/client.ts'
import type { Work } from '../../lib/async/work.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { ExpectedTip } from '../tip.ts'
import type { LogRange } from './check_logs.ts'

/** The newest blocks are read by hash: a node that lacks one fails, whereas it returns no logs for a range. */
export const HASHED_BLOCKS = 3

/** Reads the hashes of the newest blocks, each the parent of the next, so that all belong to the chain of the tip. */
export async function readNewestHashes(
  endpoint: Endpoint,
  options: {
    readonly client: ChainClient
    readonly tip: ExpectedTip
    readonly grandparent: Hex | undefined
    readonly fromBlock: number
  },
  work: Work,
): Promise<readonly LogRange[]> {
  const { client, tip, grandparent, fromBlock } = options
  const hashes: LogRange[] = []
  let block: Pick<PinnedBlock, 'number' | 'hash' | 'parentHash'> = tip.block
  for (;;) {
    hashes.unshift({ blockHash: block.hash, number: Number(block.number) })
    if (Number(block.number) - 1 < fromBlock) return hashes
    if (hashes.length === HASHED_BLOCKS - 1) {
      return [{ blockHash: block.parentHash, number: Number(block.number) - 1 }, ...hashes]
    }
    const { parentHash: hash, number } = block
    if (grandparent !== undefined && block === tip.block) {
      block = { number: number - 1n, hash, parentHash: grandparent }
      continue
    }
    const parent = await readHeader(endpoint, { chainId: client.chain.id, at: { hash } }, work)
    if (parent === undefined) throw new UpstreamError('The endpoint does not have the parent of a block')
    block = parent
  }
}
