import { zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../../chain/block.ts'
import type { LensAccess } from '../../../../chain/call/lens.ts'
import { runCooperatively } from '../../../../lib/async/cooperative.ts'
import { nameOf } from '../../event/watch.ts'
import type { Picks } from '../abi.ts'
import { interpret, type Position } from '../position.ts'
import { type Asked, optionsOf, readPicked } from '../questions.ts'

/** What was read of some positions, as `nameOf` names them. */
export interface PickedRead {
  readonly positions: ReadonlyMap<string, Position>
  /** Those that their manager does not know, though it answers. */
  readonly gone: ReadonlySet<string>
}

/** Some positions, whoever has them, at a block. */
export async function readNamed(
  lens: LensAccess,
  { picks, block }: { readonly picks: Picks; readonly block: PinnedBlock },
  asked: Asked,
): Promise<PickedRead> {
  const { deployments } = asked.place
  const raw = await readPicked(lens, { owner: zeroAddress, picks, block }, asked)
  const { positions } = await runCooperatively(interpret(raw, optionsOf(asked, 'included')))
  const gone = raw.broken.filter(
    ({ part, manager }) => part === 'position' && raw.managers[manager]?.balance !== undefined,
  )
  return {
    positions: new Map(positions.map((each) => [nameOf(each.deployment.manager, each.tokenId), each])),
    gone: new Set(gone.map(({ manager, tokenId }) => nameOf(deployments[manager]?.manager ?? '', tokenId))),
  }
}
