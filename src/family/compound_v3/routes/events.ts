import type { Route } from '../../../http/route/route.ts'
import { eventsRoute as createEventsRoute } from '../../lending/events.ts'
import type { EventReader } from '../../lending/read_events.ts'
import type { CometTarget } from '../event/log.ts'
import type { CometTargetReader } from '../read/market_target.ts'
import type { CometReader } from '../read/read.ts'
import { CHARGES, findMarketTarget, marketIdParameter, PROTOCOL } from './market.ts'

/** Creates the route for a wallet's events in one market. */
export function eventsRoute({
  chainIds,
  markets,
  reader,
  history,
  events,
}: {
  /** Chains that have Compound V3. */
  readonly chainIds: readonly number[]
  readonly markets: ReadonlySet<string>
  readonly reader: () => CometReader
  readonly history: () => CometTargetReader
  readonly events: () => EventReader<CometTarget>
}): Route {
  const protocol = {
    tool: PROTOCOL,
    name: PROTOCOL.name,
    operation: 'compound_v3',
    noun: 'market',
    charge: CHARGES.events,
    description: DESCRIPTION,
  }
  return createEventsRoute(protocol, {
    chainIds,
    marketId: marketIdParameter(markets),
    findMarket(place, work) {
      const { client, deployments } = findMarketTarget(reader(), place)
      const [market] = deployments
      if (market === undefined) throw new Error('A found market has a deployment')
      return { client, pendingTarget: history().read(client, market, work) }
    },
    events,
  })
}

const DESCRIPTION =
  'A supply that repays a debt first is two events, and so is a withdrawal that borrows the rest: together they are what ' +
  'was moved. An absorption is a liquidation of the whole debt, with an event of each collateral. Transfers of what was ' +
  'supplied or is owed are not shown, and those of a debt log nothing. So the list is proven by state: what each log ' +
  'added to collaterals must be what the market stores, and the principal of the base must stand still between logs; ' +
  'where it does not, the block of the change is searched and its logs are read anew. A wallet of which that cannot be ' +
  'told, because no endpoint keeps old state (an archive node) or there is too much of it, is 503 and says why. Prices ' +
  'are those of the chain’s own sources at the block, as in the list.'
