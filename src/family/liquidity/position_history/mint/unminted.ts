import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'

/**
 * True if a manager has not minted an id up to now, by its counter: it numbers positions in sequence, from 1 on. False
 * if it has, or if the counter cannot be read (`readNextId` returns undefined), so that logs must decide. Throws
 * `AbortedError` if `signal` fires.
 */
export async function isUnminted(
  { client, tokenId }: { readonly client: ChainClient; readonly tokenId: bigint },
  readNextId: (endpoint: Endpoint, signal: AbortSignal) => Promise<bigint | undefined>,
  signal: AbortSignal,
): Promise<boolean> {
  if (tokenId === 0n) return true
  try {
    const next = await client.read(readNextId, { signal })
    return next !== undefined && tokenId >= next
  } catch (error) {
    if (signal.aborted) throw error
    return false
  }
}
