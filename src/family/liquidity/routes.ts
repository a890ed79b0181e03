import * as v from 'valibot'
import {
  choice,
  configuredChainId,
  evmAddress,
  flag,
  limit,
  moment,
  momentRule,
  page,
  tokenId,
} from '../../http/request/input.ts'
import type { Charge } from '../../http/route/charge.ts'
import { createPagination, slicePage } from '../../http/route/page.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import type { ToolFacts } from '../../http/route/tool.ts'
import { CodedError } from '../../lib/error.ts'
import { toAsOf } from '../moment.ts'
import { LIQUIDITY_TOOLS } from '../tools.ts'
import { checkHistoryComplete, computePnlOrThrow, type HistoryAtBlock } from './position_history/pnl_outcome.ts'
import { presentFlow, presentPnl } from './present.ts'
import { eventsOutput, pnlOutput } from './schema.ts'
import type { TargetSelection } from './targets.ts'

/*
 * Charges, parameters, and the routes of events and of profit and loss.
 */

const FULL = { parameter: 'full', value: true, credits: 15 }

/** Charges of the routes of liquidity positions. */
export const POSITION_CHARGES = {
  list: {
    credits: 2,
    per: 'position on the page',
    instead: [{ parameter: 'status', value: 'inactive', credits: 1 }, FULL],
  },
  position: { credits: 2, instead: [FULL] },
  pnl: { credits: 8, instead: [{ parameter: 'status', value: 'inactive', credits: 4 }] },
  events: { credits: 1 },
} satisfies Record<string, Charge>

/** Schema of the parameter for closed positions: `inactive`; absent for active ones. */
export const inactiveStatus = v.optional(
  v.pipe(choice(['inactive']), v.description('Positions that are closed; absent: active ones.')),
)

/** Schema of the parameter for the detailed payload. */
export const fullParameter = v.optional(
  v.pipe(flag, v.description('Adds amounts, fees, values in USD and, where its history tells them, profits.')),
  'false',
)

/** The contract that issued a token id. */
export const managerAddress = v.optional(
  v.pipe(
    evmAddress,
    v.description('Contract that issued the id, if positions of several have it.'),
    v.examples(['0xC36442b4a4522E871399CD717aBDD847Ab11FE88']),
  ),
)

/** Refuses `full` for positions that are closed. */
export function refuseFullOfInactive<
  Query extends { readonly status?: 'inactive' | undefined; readonly full: boolean },
>() {
  return v.check(
    ({ status, full }: Query) => !(full && status === 'inactive'),
    'Cannot read parameter "full": expected it without "status", the detailed payload is of active positions only',
  )
}

/** Options of the routes for profit and loss and its flows. */
interface PnlRoutesOptions {
  /** Path segment of the family. */
  readonly family: string
  /** Prefix of their operations: `uniswap`. */
  readonly operation: string
  readonly protocol: NonNullable<ToolFacts['protocol']>
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
  operation,
  protocol,
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
      operation: `${operation}_pnl`,
      tool: { ...LIQUIDITY_TOOLS.pnl, protocol },
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
      operation: `${operation}_events`,
      tool: { ...LIQUIDITY_TOOLS.events, protocol },
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
