import * as v from 'valibot'
import type { FinanceClient } from '../../finance/chain.ts'
import type { StreamTarget } from '../../history/stream.ts'
import { chainIdWith, choice, evmWallet, limit, page } from '../../http/request/input.ts'
import type { Charge } from '../../http/route/charge.ts'
import { createPagination } from '../../http/route/page.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import type { Work } from '../../lib/async/work.ts'
import { toAsOf } from '../moment.ts'
import { LENDING_TOOLS } from '../tools.ts'
import { LENDING_EVENT_TYPES } from './lending_event.ts'
import { eventsOutput, presentEvent } from './present.ts'
import type { EventReader, EventsTarget } from './read_events.ts'

/** What the route of events asks of a protocol. */
interface EventsProtocol {
  /** The family as tools for agents name it; its code is its path segment. */
  readonly tool: { readonly code: string; readonly name: string }
  /** In errors: `Aave V3`. */
  readonly name: string
  /** Prefix of its operations. */
  readonly operation: string
  /** What it calls a market: `spoke`. */
  readonly noun: string
  readonly charge: Charge
  readonly description?: string
}

/** Creates the route for a wallet's events in one market of a protocol. */
export function eventsRoute<Target extends StreamTarget>(
  { tool, name, operation, noun, charge, description }: EventsProtocol,
  {
    chainIds,
    marketId,
    findMarket,
    events,
  }: {
    /** Chains that have the protocol. */
    readonly chainIds: readonly number[]
    /** Schema of a market on any of them, with the default if there is one. */
    readonly marketId: v.GenericSchema<string | undefined, string>
    /** Throws `CodedError` for a market that the chain does not have. */
    readonly findMarket: (
      place: { readonly chainId: number; readonly market: string },
      work: Work,
    ) => { readonly client: FinanceClient; readonly pendingTarget: Promise<EventsTarget<Target>> }
    readonly events: () => EventReader<Target>
  },
): Route {
  return defineRoute({
    method: 'GET',
    path: `/v1/lending/${tool.code}/position/:chain_id/events`,
    operation: `${operation}_events`,
    tool: { ...LENDING_TOOLS.events, protocol: tool },
    summary:
      `Lists every supply, borrow, withdrawal, repayment and liquidation of a wallet in one ${noun}, newest first, ` +
      'with the value at its block. The first call for a wallet may answer 503 while its history is read.',
    ...(description !== undefined && { description }),
    input: v.object({
      chain_id: chainIdWith(name, chainIds),
      wallet: evmWallet,
      market_id: marketId,
      type: v.optional(v.pipe(choice(LENDING_EVENT_TYPES), v.description('Events of this kind only.'))),
      page,
      limit,
    }),
    output: eventsOutput,
    errors: [503],
    feature: 'history',
    charge,
    async read({ chain_id: chainId, market_id: market, ...query }, { work }) {
      return await events().read({ ...findMarket({ chainId, market }, work), ...query }, work)
    },
    present: ({ events: rows, total, block }, { page: number, limit: max }, { url }) => ({
      data: rows.map(presentEvent),
      pagination: createPagination({ page: number, limit: max, total, url }),
      asOf: toAsOf([{ block }]),
    }),
  })
}
