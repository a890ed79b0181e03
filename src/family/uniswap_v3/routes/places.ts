import { type Address, isAddressEqual } from 'viem'
import { onlyPosition, unknownManager } from '../../../finance/liquidity/list/found.ts'
import type { Outcome } from '../../../finance/liquidity/lives/profit.ts'
import { CodedError } from '../../../lib/error.ts'
import { type Moment, readAt } from '../../place.ts'
import type { ChainRead, Position } from '../read/position.ts'
import type { UniswapV3Place } from '../read/questions.ts'
import type { PositionReader } from '../read/read.ts'
import type { UniswapV3Lives } from './position_life.ts'

/** What the family's endpoints are made from; `chainIds` are all configured chains, with this family or without. */
export interface RoutesOptions {
  readonly chainIds: readonly number[]
  readonly reader: () => PositionReader
  readonly lives: () => UniswapV3Lives
}

/** What a request says about where its positions are, and when. */
export interface AskedPlaces extends Moment {
  readonly chain_id?: number | undefined
  readonly manager_address?: Address | undefined
}

/** Profit and loss of a position whose flows nobody is to read. */
export const UNTOLD: Outcome = { status: 'pending' }

/** The positions of an id at a moment, and the places at it. Throws as `PositionReader.readOne` and `readAt`. */
export async function readOneAt(
  reader: PositionReader,
  asked: {
    readonly id: bigint
    readonly places: readonly UniswapV3Place[]
    readonly moment: Moment
    readonly isPriced?: boolean
  },
  signal: AbortSignal,
) {
  return await readAt({ ...asked, past: reader.past, signal }, async (places) => ({
    places,
    reads: await reader.readOne(asked.id, { places, isPriced: asked.isPriced ?? true, signal }),
  }))
}

/** The chains to ask, with only one manager if the caller named it. */
export function placesToAsk(
  { places }: PositionReader,
  { chain_id: chainId, manager_address: manager }: AskedPlaces,
): UniswapV3Place[] {
  if (places.size === 0) {
    throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No chain with Uniswap V3 positions is configured')
  }
  const chosen = [...places].filter(([id]) => chainId === undefined || id === chainId).map(([, place]) => place)
  if (manager === undefined) return chosen
  const narrowed = chosen.flatMap((place) => {
    const deployments = place.deployments.filter((each) => isAddressEqual(each.manager, manager))
    return deployments.length > 0 ? [{ ...place, deployments }] : []
  })
  if (narrowed.length > 0) return narrowed
  const known = chosen.flatMap(({ client, deployments }) =>
    deployments.map((each) => ({ chainId: client.chain.id, manager: each.manager })),
  )
  throw unknownManager(manager, known)
}

/** The one position of an id; undefined without any. For several, the error names the parameter that decides. */
export function onlyPositionOf(reads: readonly ChainRead[], id: bigint): Position | undefined {
  return onlyPosition(reads, {
    id,
    placeOf: ({ chainId, deployment: { manager } }) => ({ chainId, manager }),
  })
}
