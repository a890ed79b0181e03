import * as v from 'valibot'
import { LENDING_EVENT_TYPES } from '../../history/rows/lending_event.ts'
import { chainIdIn, choice, evmAddress, limit, page } from '../../http/request/input.ts'
import { pagination } from '../../http/request/page.ts'
import { type Route, route } from '../../http/route.ts'
import { presentEvent } from './event/present.ts'
import type { LendingReader } from './read/read.ts'
import type { EventReader } from './read/read_events.ts'
import { MARKET_DEFAULT, marketIdIn, notConfigured } from './routes_market.ts'
import { eventsOutput } from './schema.ts'

/** What a page of events costs. */
const CREDITS = 1

/** The history of a wallet in one market. */
export function eventsRoute(options: {
  readonly chainIds: readonly number[]
  /** Names of the markets on them. */
  readonly markets: ReadonlySet<string>
  readonly reader: () => LendingReader
  readonly events: () => EventReader
}): Route {
  const { chainIds, markets, reader, events } = options
  const input = v.object({
    chain_id: chainIdIn(chainIds),
    wallet: evmAddress,
    market_id: v.optional(marketIdIn(markets)),
    type: v.optional(choice(LENDING_EVENT_TYPES)),
    page,
    limit,
  })
  return route({
    method: 'GET',
    path: '/v1/lending/aave-v3/position/:chain_id/events',
    tool: 'aave_events',
    summary:
      'Lists every supply, borrow, withdrawal, repayment and liquidation of a wallet in one market, newest first, ' +
      'with the value at its block. The first call for a wallet may answer 503 while its history is read.',
    input,
    output: eventsOutput,
    errors: [503],
    feature: 'history',
    price: '1 credit per successful call.',
    creditsMin: () => CREDITS,
    async read({ chain_id, market_id = MARKET_DEFAULT, ...question }, { signal }) {
      const { places } = reader()
      if (places.size === 0) throw notConfigured()
      const place = places.get(chain_id)
      const deployment = place?.deployments.find(({ market }) => market === market_id)
      // A chain without the market has no events of it, as it has no positions in it.
      if (place === undefined || deployment === undefined) return undefined
      return events().read({ client: place.client, deployment, ...question }, signal)
    },
    credits: () => CREDITS,
    present: (read, { chain_id, page, limit }, { url }) => ({
      data: read?.events.map(presentEvent) ?? [],
      pagination: pagination({ page, limit, total: read?.total ?? 0, url }),
      asOf: read === undefined ? [] : [{ chainId: chain_id, blockNumber: read.block.number }],
    }),
  })
}
