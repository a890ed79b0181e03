import * as v from 'valibot'
import {
  checkHistoryComplete,
  computePnlOrThrow,
  type HistoryAtBlock,
} from '../finance/liquidity/position_history/pnl_outcome.ts'
import { presentFlow, presentPnl } from '../finance/liquidity/present.ts'
import { eventsOutput, pnlOutput } from '../finance/liquidity/schema.ts'
import { configuredChainId, limit, moment, momentRule, page, tokenId } from '../http/request/input.ts'
import type { Charge } from '../http/route/charge.ts'
import { createPagination, slicePage } from '../http/route/page.ts'
import { defineRoute, type Route } from '../http/route/route.ts'
import { CodedError } from '../lib/error.ts'
import type { TargetSelection } from './managed_targets.ts'
import { inactiveStatus, managerAddress } from './position_routes.ts'
import { toAsOf } from './target.ts'

/** Options of the routes for profit and loss and its flows. */
interface PnlRoutesOptions {
  /** Path segment of the family. */
  readonly family: string
  /** Prefix of their tools: `uniswap`. */
  readonly tool: string
  /** Noun for a position in summaries: `liquidity position`. */
  readonly what: string
  /** All configured chains, with this family or without. */
  readonly chainIds: readonly number[]
  readonly charges: { readonly pnl: Charge; readonly events: Charge }
  /** Throws as `PositionHistories.find`. */
  find(query: PositionQuery, signal: AbortSignal): Promise<HistoryAtBlock>
}

/** A position id with chain, manager and moment. */
interface PositionQuery extends TargetSelection {
  readonly id: bigint
}

/** Routes for the profit and loss of one position, and for the flows it is computed from. */
export function pnlRoutes({
  family,
  tool,
  what,
  chainIds,
  charges,
  find,
}: PnlRoutesOptions): readonly [pnl: Route, events: Route] {
  const position = {
    id: tokenId,
    chain_id: v.optional(configuredChainId(chainIds)),
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
      async read({ status, ...query }, { signal }) {
        const history = await find(query, signal)
        const profit = await computePnlOrThrow(history)
        if (status === 'inactive' && !profit.isClosed) {
          const message = `Position ${history.tokenId} on chain ${history.chainId} is active: ask without "status"`
          throw new CodedError('NOT_FOUND', message)
        }
        return { told: history, profit }
      },
      present: ({ told: history, profit }) => ({ data: presentPnl(profit, history), asOf: toAsOf([history]) }),
    }),
    defineRoute({
      ...common,
      path: `/v1/positions/${family}/:id/events`,
      tool: `${tool}_events`,
      summary: `Lists what went into one ${what} and out of it, priced at its time, newest first.`,
      input: v.pipe(v.object({ ...position, page, limit }), momentRule()),
      output: eventsOutput,
      charge: charges.events,
      async read({ page, limit, ...query }, { signal }) {
        const history = await find(query, signal)
        checkHistoryComplete(history)
        return { told: history, flows: slicePage(history.history.flows.toReversed(), { page, limit }) }
      },
      present: ({ told: history, flows }, { page, limit }, { url }) => ({
        data: flows.map((flow) => presentFlow(flow, history.history.subject.tokens)),
        pagination: createPagination({ page, limit, total: history.history.flows.length, url }),
        asOf: toAsOf([history]),
      }),
    }),
  ]
}
