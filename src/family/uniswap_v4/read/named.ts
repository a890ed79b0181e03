import { createSpamFilter } from '../../../finance/token/spam.ts'
import type { Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { readTargetByLens } from '../../liquidity/targets.ts'
import type { Position } from './position.ts'
import { getDeployment, LENS, readNamed, type UniswapV4Target } from './queries.ts'

/** A position, or why it was not read: there is none, or its pool or tokens cannot be decoded. */
type NamedRead = Position | 'none' | 'unreadable'

/**
 * Creates a reader of positions by their distinct ids, of any owner, in the order of the ids. Throws `UnavailableError`,
 * also if the manager does not answer at the block.
 */
export function createNamedReader(clock: Clock) {
  const { classify: classifyToken } = createSpamFilter()
  return async (tokenIds: readonly bigint[], target: UniswapV4Target, work: Work): Promise<readonly NamedRead[]> => {
    const lensContext = {
      chain: target.client.chain,
      deployment: getDeployment(target),
      classifyToken,
      mustAnswer: true,
    }
    const read = await readTargetByLens(
      target,
      { ...LENS, clock, read: (lens) => readNamed(lens, tokenIds, lensContext) },
      work,
    )
    const found = new Map<bigint, NamedRead>(read.unreadable.map(({ tokenId }) => [tokenId, 'unreadable']))
    for (const position of read.positions) found.set(position.tokenId, position)
    return tokenIds.map((tokenId) => found.get(tokenId) ?? 'none')
  }
}
