import { type Address, isAddressEqual } from 'viem'
import { unknownManager } from '../finance/liquidity/list/found.ts'
import { type FamilyPlace, type Moment, placesOn } from './place.ts'

/** What the routes of a family are made from whose positions are tokens of a manager. */
export interface ManagedRoutesOptions<Reader, Lives> {
  /** All configured chains, with this family or without. */
  readonly chainIds: readonly number[]
  readonly reader: () => Reader
  readonly lives: () => Lives
}

/** What a request says about where its positions are, and when. */
export interface AskedPlaces extends Moment {
  readonly chain_id?: number | undefined
  readonly manager_address?: Address | undefined
}

/** The chains to ask, with only one manager if the caller named it. `exchange` is what answers call the family. */
export function placesToAsk<Deployment>(
  places: ReadonlyMap<number, FamilyPlace<Deployment>>,
  { chain_id: chainId, manager_address: manager }: AskedPlaces,
  { exchange, managerOf }: { readonly exchange: string; readonly managerOf: (deployment: Deployment) => Address },
): FamilyPlace<Deployment>[] {
  const chosen = placesOn(places, { chainId, what: `${exchange} positions` })
  if (manager === undefined) return chosen
  const narrowed = chosen.flatMap((place) => {
    const deployments = place.deployments.filter((each) => isAddressEqual(managerOf(each), manager))
    return deployments.length > 0 ? [{ ...place, deployments }] : []
  })
  if (narrowed.length > 0) return narrowed
  const known = chosen.flatMap(({ client, deployments }) =>
    deployments.map((each) => ({ chainId: client.chain.id, manager: managerOf(each) })),
  )
  throw unknownManager(manager, known)
}
