import type { ChainClient, Endpoint } from '../../../../chain/rpc/client.ts'

/**
 * True if a manager has not minted an id up to now, which its counter tells: ids are given out in sequence, from 1 on.
 * False if it has, or if that cannot be told (`readNextId` gives undefined), so that its logs must. Throws `AbortedError`
 * if `signal` fires.
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
