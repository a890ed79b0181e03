import { type Address, isAddressEqual } from 'viem'
import { onlyPosition, unknownManager } from '../../../finance/liquidity/list/found.ts'
import { CodedError } from '../../../lib/error.ts'
import { type Moment, readAt } from '../../place.ts'
import type { ChainRead, Position } from '../read/position.ts'
import { deploymentOf, type UniswapV4Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV4Lives } from './position_life.ts'

/** What the family's endpoints are made from; `chainIds` are all configured chains, with this family or without. */
export interface V4RoutesOptions {
  readonly chainIds: readonly number[]
  readonly reader: () => PositionReader
  readonly lives: () => UniswapV4Lives
}

/** What a request says about where its positions are, and when. */
export interface V4AskedPlaces extends Moment {
  readonly chain_id?: number | undefined
  readonly manager_address?: Address | undefined
}

/** The chains to ask: one if the caller named it, and only those with the manager that he named. */
export function placesToAsk(
  { places }: PositionReader,
  { chain_id: chainId, manager_address: manager }: V4AskedPlaces,
): UniswapV4Place[] {
  if (places.size === 0) {
    throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No chain with Uniswap V4 positions is configured')
  }
  const chosen = [...places].filter(([id]) => chainId === undefined || id === chainId).map(([, place]) => place)
  if (manager === undefined) return chosen
  const narrowed = chosen.filter((place) => isAddressEqual(deploymentOf(place).positionManager, manager))
  if (narrowed.length > 0) return narrowed
  const known = chosen.map((place) => ({
    chainId: place.client.chain.id,
    manager: deploymentOf(place).positionManager,
  }))
  throw unknownManager(manager, known)
}

/** The positions of an id at a moment, and the places at it. Throws as `PositionReader.readOne` and `readAt`. */
export async function readOneAt(
  reader: PositionReader,
  asked: { readonly id: bigint; readonly places: readonly UniswapV4Place[]; readonly moment: Moment },
  signal: AbortSignal,
) {
  return await readAt({ ...asked, past: reader.past, signal }, async (places) => ({
    places,
    reads: await reader.readOne(asked.id, { places, signal }),
  }))
}

/** The one position of an id; undefined without any. For several, the error names the parameter that decides. */
export function onlyPositionOf(reads: readonly ChainRead[], id: bigint): Position | undefined {
  return onlyPosition(reads, {
    id,
    placeOf: ({ chainId, deployment: { positionManager: manager } }) => ({ chainId, manager }),
  })
}
