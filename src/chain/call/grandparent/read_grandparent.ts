import type { Hex } from 'viem'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { Block } from '../../block.ts'
import type { Endpoint } from '../../rpc/client.ts'
import { decodeLensPage } from '../cursor.ts'
import { type LensAccess, readByLens } from '../lens.ts'
import { LENS_RUNTIME } from './lens_artifact.ts'

/** The newest block as a call sees it, and the hash of its parent's parent. */
interface Grandparent {
  readonly block: Block
  readonly hash: Hex
}

/** Reads the hash of the newest block's grandparent, which headers do not contain. Throws as `readByLens`. */
export async function readGrandparent(
  endpoint: Endpoint,
  { chainId, clock }: { readonly chainId: number; readonly clock: Clock },
  work: Work,
): Promise<Grandparent> {
  const read = async ({ call }: LensAccess): Promise<Grandparent> => {
    const { from, block } = decodeLensPage(await call({ data: '0x', block: 'latest' }))
    return { block, hash: from.hex(32) }
  }
  return await readByLens(endpoint, { topic: 'grandparent', runtime: LENS_RUNTIME, chainId, clock, read }, work)
}
