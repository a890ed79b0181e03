import { zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import type { LensAccess } from '../../../../chain/call/lens.ts'
import { runCooperatively } from '../../../../lib/async/cooperative.ts'
import { getPositionKey } from '../../event/watch.ts'
import type { PositionRefs } from '../abi.ts'
import { interpret, type Position } from '../position.ts'
import { type LensQueryContext, readSelected, toInterpretOptions } from '../queries.ts'

/** What was read of some positions, as `getPositionKey` names them. */
export interface NamedPositionsRead {
  readonly positions: ReadonlyMap<string, Position>
  /** Those that their manager does not know, though it answers. */
  readonly gone: ReadonlySet<string>
}

/** Some positions, whoever has them, at a block. */
export async function readNamed(
  lens: LensAccess,
  { picks, block }: { readonly picks: PositionRefs; readonly block: PinnedBlock },
  asked: LensQueryContext,
): Promise<NamedPositionsRead> {
  const { deployments } = asked.place
  const raw = await readSelected(lens, { owner: zeroAddress, picks, block }, asked)
  const { positions } = await runCooperatively(interpret(raw, toInterpretOptions(asked, 'included')))
  const gone = raw.broken.filter(
    ({ part, manager }) => part === 'position' && raw.managers[manager]?.balance !== undefined,
  )
  return {
    positions: new Map(positions.map((each) => [getPositionKey(each.deployment.manager, each.tokenId), each])),
    gone: new Set(gone.map(({ manager, tokenId }) => getPositionKey(deployments[manager]?.manager ?? '', tokenId))),
  }
}
