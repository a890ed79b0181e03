import * as v from 'valibot'
import type { Route } from '../../../http/route/route.ts'
import { eventsRoute as createEventsRoute } from '../../lending/events.ts'
import type { EventReader } from '../../lending/read_events.ts'
import type { LendingTarget } from '../event/log.ts'
import type { LendingReader } from '../read/read.ts'
import type { MarketReader } from '../read/read_market.ts'
import { CHARGES, findMarketTarget, MARKET_DEFAULT, marketIdParameter, NAME, PROTOCOL } from './market.ts'

/** Creates the route for a wallet's events in one market. */
export function eventsRoute(options: {
  /** Chains that have Aave V3. */
  readonly chainIds: readonly number[]
  /** Names of the markets on them. */
  readonly markets: ReadonlySet<string>
  readonly reader: () => LendingReader
  readonly history: () => MarketReader
  readonly events: () => EventReader<LendingTarget>
}): Route {
  const { chainIds, markets, reader, history, events } = options
  const protocol = { tool: PROTOCOL, name: NAME, operation: 'aave', noun: 'market', charge: CHARGES.events }
  return createEventsRoute(protocol, {
    chainIds,
    marketId: v.optional(marketIdParameter(markets), MARKET_DEFAULT),
    findMarket(place, work) {
      const { client, deployment } = findMarketTarget(reader(), place)
      return { client, pendingTarget: history().read(client, deployment, work) }
    },
    events,
  })
}
