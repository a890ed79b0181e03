import type { PinnedBlock } from '../../chain/block.ts'
import { readBlock } from '../../chain/evm/read_block.ts'
import type { ChainClient, Endpoint } from '../../chain/rpc/client.ts'
import type { Work } from '../../lib/async/work.ts'
import { UnavailableError } from '../../lib/error.ts'

/**
 * Reads state at a final block, for the proof of a history; undefined if no endpoint keeps that block's state. Throws
 * `AbortedError`.
 */
export async function readAtFinal<T>(
  client: ChainClient,
  at: { readonly chainId: number; readonly number: number },
  read: (endpoint: Endpoint, block: PinnedBlock, work: Work) => Promise<T>,
  work: Work,
): Promise<T | undefined> {
  try {
    const query = { chainId: at.chainId, number: BigInt(at.number) }
    const block = await client.read((endpoint, within) => readBlock(endpoint, query, within), { work, past: 'header' })
    return await client.read((endpoint, within) => read(endpoint, block, within), { work, past: block })
  } catch (error) {
    if (error instanceof UnavailableError) return undefined
    throw error
  }
}
