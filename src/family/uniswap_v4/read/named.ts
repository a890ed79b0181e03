import { readByLens } from '../../../chain/call/lens.ts'
import { createSpamFilter } from '../../../finance/token/spam.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { getReadLimits } from '../../liquidity/targets.ts'
import type { Position } from './position.ts'
import { getDeployment, LENS, readSingle, type UniswapV4Target } from './queries.ts'

/** A position, or why it was not read: there is none, or its pool or tokens cannot be decoded. */
type NamedRead = Position | 'none' | 'unreadable'

/**
 * Creates a reader of positions by their ids, of any owner, in the order of the ids. One endpoint reads all of them, so
 * that their calls are bundled. Throws `UnavailableError`, also if the manager does not answer at the block.
 */
export function createNamedReader(clock: Clock) {
  const { classify: classifyToken } = createSpamFilter()
  return (tokenIds: readonly bigint[], target: UniswapV4Target, work: Work): Promise<readonly NamedRead[]> => {
    const { client, block: at } = target
    const { chain } = client
    const lensContext = { chain, deployment: getDeployment(target), classifyToken, mustAnswer: true }
    return client.read(
      async (endpoint, within) => {
        const readOne = async (tokenId: bigint): Promise<NamedRead> => {
          const lens = { ...LENS, chainId: chain.id, at, clock }
          const { positions, unreadable } = await readByLens(
            endpoint,
            { ...lens, read: (access) => readSingle(access, tokenId, lensContext) },
            within,
          )
          return positions[0] ?? (unreadable.length > 0 ? 'unreadable' : 'none')
        }
        return await Promise.all(tokenIds.map(readOne))
      },
      getReadLimits(target, work),
    )
  }
}
