import * as v from 'valibot'
import { chainIdWith, choice, evmWallet, limit, page } from '../../../http/request/input.ts'
import { createPagination } from '../../../http/route/page.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { LENDING_EVENT_TYPES } from '../../lending/lending_event.ts'
import { eventsOutput, presentEvent } from '../../lending/present.ts'
import type { EventReader } from '../../lending/read_events.ts'
import { LENDING_TOOLS } from '../../tools.ts'
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
  const input = v.object({
    chain_id: chainIdWith(NAME, chainIds),
    wallet: evmWallet,
    market_id: v.optional(marketIdParameter(markets), MARKET_DEFAULT),
    type: v.optional(v.pipe(choice(LENDING_EVENT_TYPES), v.description('Events of this kind only.'))),
    page,
    limit,
  })
  return defineRoute({
    method: 'GET',
    path: '/v1/lending/aave-v3/position/:chain_id/events',
    operation: 'aave_events',
    tool: { ...LENDING_TOOLS.events, protocol: PROTOCOL },
    summary:
      'Lists every supply, borrow, withdrawal, repayment and liquidation of a wallet in one market, newest first, ' +
      'with the value at its block. The first call for a wallet may answer 503 while its history is read.',
    input,
    output: eventsOutput,
    errors: [503],
    feature: 'history',
    charge: CHARGES.events,
    async read({ chain_id: chainId, market_id: market, ...query }, { work }) {
      const { client, deployment } = findMarketTarget(reader(), { chainId, market })
      return events().read({ client, pendingTarget: history().read(client, deployment, work), ...query }, work)
    },
    present: ({ events, total, block }, { chain_id, page, limit }, { url }) => ({
      data: events.map(presentEvent),
      pagination: createPagination({ page, limit, total, url }),
      asOf: [{ chainId: chain_id, blockNumber: block.number }],
    }),
  })
}
