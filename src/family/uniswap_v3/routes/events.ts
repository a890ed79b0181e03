import * as v from 'valibot'
import { checkLife } from '../../../finance/liquidity/lives/told_life.ts'
import { presentFlow } from '../../../finance/liquidity/present.ts'
import { eventsOutput } from '../../../finance/liquidity/schema.ts'
import { chainIdIn, evmAddress, limit, moment, momentRule, page, tokenId } from '../../../http/request/input.ts'
import { pageOf, pagination } from '../../../http/request/page.ts'
import { type Route, route } from '../../../http/route/route.ts'
import { asOf } from '../../place.ts'
import { CHARGES } from './credits.ts'
import { askedLife, type RoutesOptions } from './places.ts'

/** The flows of one position, which its profit and loss is counted from. */
export function eventsRoute({ reader, lives, chainIds }: RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      id: tokenId,
      chain_id: v.optional(chainIdIn(chainIds)),
      manager_address: v.optional(evmAddress),
      ...moment,
      page,
      limit,
    }),
    momentRule(),
  )
  return route({
    method: 'GET',
    path: '/v1/positions/uniswap-v3/:id/events',
    tool: 'uniswap_events',
    summary: 'Lists what went into one liquidity position and out of it, priced at its time, newest first.',
    input,
    output: eventsOutput,
    errors: [404, 503, 'MISSING_PARAMETER'],
    feature: 'history',
    charge: CHARGES.events,
    async read({ page, limit, ...asked }, { signal }) {
      const positionLife = await lives().find(askedLife(reader(), asked), signal)
      checkLife(positionLife)
      return { positionLife, flows: pageOf(positionLife.life.flows.toReversed(), { page, limit }) }
    },
    present: ({ positionLife, flows }, { page, limit }, { url }) => ({
      data: flows.map((flow) => presentFlow(flow, positionLife.life.subject.tokens)),
      pagination: pagination({ page, limit, total: positionLife.life.flows.length, url }),
      asOf: asOf([positionLife]),
    }),
  })
}
