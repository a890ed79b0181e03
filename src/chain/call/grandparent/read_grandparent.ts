import type { Hex } from 'viem'
import type { Clock } from '../../../lib/clock.ts'
import type { Block } from '../../block.ts'
import type { Endpoint } from '../../rpc/client.ts'
import { openLensPage } from '../cursor.ts'
import { LENS_WAYS, ladderOf, readByRung } from '../lens.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** The newest block as a call sees it, and the hash of the parent of its parent. */
interface Grandparent {
  readonly of: Block
  readonly hash: Hex
}

/** Reads the hash that the newest header does not have. Throws as `readByRung`. */
export async function readGrandparent(
  endpoint: Endpoint,
  { chainId, clock }: { readonly chainId: number; readonly clock: Clock },
  signal: AbortSignal,
): Promise<Grandparent> {
  const rungs = ladderOf({
    ways: LENS_WAYS,
    endpoint,
    chainId,
    runtime: LENS_RUNTIME,
    async byLens({ call }): Promise<Grandparent> {
      const { from, block } = openLensPage(await call({ data: '0x', block: 'latest' }))
      return { of: block, hash: from.hex(32) }
    },
  })
  return await readByRung(endpoint, { topic: 'grandparent', rungs, clock }, signal)
}
