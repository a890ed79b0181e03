import * as v from 'valibot'
import {
  checkHistoryComplete,
  computePnlOrThrow,
  type HistoryAtBlock,
} from '../finance/liquidity/position_history/pnl_outcome.ts'
import { presentFlow, presentPnl } from '../finance/liquidity/present.ts'
import { eventsOutput, pnlOutput } from '../finance/liquidity/schema.ts'
import { chainIdIn, limit, moment, momentRule, page, tokenId } from '../http/request/input.ts'
import type { Charge } from '../http/route/charge.ts'
import { createPagination, slicePage } from '../http/route/page.ts'
import { defineRoute, type Route } from '../http/route/route.ts'
import { CodedError } from '../lib/error.ts'
import type { TargetSelection } from './managed_targets.ts'
import { inactiveStatus, managerAddress } from './position_routes.ts'
import { toAsOf } from './target.ts'

/** What the routes about a life are made from. */
interface LifeRoutesOptions {
  /** Path segment of the family. */
  readonly family: string
  /** What their tools begin with: `uniswap`. */
  readonly tool: string
  /** What a position is one of, in summaries: `liquidity position`. */
  readonly what: string
  /** All configured chains, with this family or without. */
  readonly chainIds: readonly number[]
  readonly charges: { readonly pnl: Charge; readonly events: Charge }
  /** Throws as `PositionLives.find`. */
  find(asked: AskedPosition, signal: AbortSignal): Promise<HistoryAtBlock>
}

/** Which position, and when. */
interface AskedPosition extends TargetSelection {
  readonly id: bigint
}

/** Profit and loss of one position, and the flows that it is counted from. */
export function pnlRoutes({
  family,
  tool,
  what,
  chainIds,
  charges,
  find,
}: LifeRoutesOptions): readonly [pnl: Route, events: Route] {
  const position = {
    id: tokenId,
    chain_id: v.optional(chainIdIn(chainIds)),
    manager_address: managerAddress,
    ...moment,
  }
  const common = { method: 'GET', errors: [404, 503, 'MISSING_PARAMETER'], feature: 'history' } as const
  return [
    defineRoute({
      ...common,
      path: `/v1/positions/${family}/:id/pnl`,
      tool: `${tool}_pnl`,
      summary: `Counts the profit and loss of one ${what} over the life of its token, also after it was burned.`,
      input: v.pipe(v.object({ ...position, status: inactiveStatus }), momentRule()),
      output: pnlOutput,
      charge: charges.pnl,
      async read({ status, ...asked }, { signal }) {
        const told = await find(asked, signal)
        const profit = await computePnlOrThrow(told)
        if (status === 'inactive' && !profit.isClosed) {
          const message = `Position ${told.tokenId} on chain ${told.chainId} is active: ask without "status"`
          throw new CodedError('NOT_FOUND', message)
        }
        return { told, profit }
      },
      present: ({ told, profit }) => ({ data: presentPnl(profit, told), asOf: toAsOf([told]) }),
    }),
    defineRoute({
      ...common,
      path: `/v1/positions/${family}/:id/events`,
      tool: `${tool}_events`,
      summary: `Lists what went into one ${what} and out of it, priced at its time, newest first.`,
      input: v.pipe(v.object({ ...position, page, limit }), momentRule()),
      output: eventsOutput,
      charge: charges.events,
      async read({ page, limit, ...asked }, { signal }) {
        const told = await find(asked, signal)
        checkHistoryComplete(told)
        return { told, flows: slicePage(told.life.flows.toReversed(), { page, limit }) }
      },
      present: ({ told, flows }, { page, limit }, { url }) => ({
        data: flows.map((flow) => presentFlow(flow, told.life.subject.tokens)),
        pagination: createPagination({ page, limit, total: told.life.flows.length, url }),
        asOf: toAsOf([told]),
      }),
    }),
  ]
}
