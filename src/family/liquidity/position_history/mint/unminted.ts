import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'
import type { Work } from '../../../../lib/async/work.ts'

/**
 * True if a manager has not minted an id up to now, by its counter: it numbers positions in sequence, from 1 on. False
 * if it has, or if the counter cannot be read (`readNextId` returns undefined), so that logs must decide. Throws
 * `AbortedError` if `work` ends.
 */
export async function isUnminted(
  { client, tokenId }: { readonly client: ChainClient; readonly tokenId: bigint },
  readNextId: (endpoint: Endpoint, work: Work) => Promise<bigint | undefined>,
  work: Work,
): Promise<boolean> {
  if (tokenId === 0n) return true
  try {
    const next = await client.read(readNextId, { work })
    return next !== undefined && tokenId >= next
  } catch (error) {
    if (work.signal.aborted) throw error
    return false
  }
}
