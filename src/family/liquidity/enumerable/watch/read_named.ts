import { zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import type { LensAccess } from '../../../../chain/call/lens.ts'
import { runCooperatively } from '../../../../lib/async/cooperative.ts'
import type { PositionRefs } from '../read/abi.ts'
import { interpret, type Position } from '../read/position.ts'
import { type LensQueryContext, readSelected, toInterpretOptions } from '../read/queries.ts'
import { getPositionKey } from './logs.ts'

/** Positions that were read, by `getPositionKey`. */
export interface NamedPositionsRead {
  readonly positions: ReadonlyMap<string, Position>
  /** Positions unknown to a manager that answers. */
  readonly gone: ReadonlySet<string>
}

/** Reads positions by id, regardless of owner, at a block. */
export async function readNamed(
  lens: LensAccess,
  { refs, block }: { readonly refs: PositionRefs; readonly block: PinnedBlock },
  context: LensQueryContext,
): Promise<NamedPositionsRead> {
  const { deployments } = context.target
  const raw = await readSelected(lens, { owner: zeroAddress, refs, block }, context)
  const { positions } = await runCooperatively(interpret(raw, toInterpretOptions(context, 'included')))
  const gone = raw.broken.filter(
    ({ part, manager }) => part === 'position' && raw.managers[manager]?.balance !== undefined,
  )
  return {
    positions: new Map(positions.map((each) => [getPositionKey(each.deployment.manager, each.tokenId), each])),
    gone: new Set(gone.map(({ manager, tokenId }) => getPositionKey(deployments[manager]?.manager ?? '', tokenId))),
  }
}
