import * as v from 'valibot'
import { choice, evmAddress, flag } from '../../../http/request/input.ts'
import type { Charge } from '../../../http/route/charge.ts'
import { LIQUIDITY_TOOLS } from '../../tools.ts'
import type { ProtocolWords } from '../protocol.ts'

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

/** Where each route of positions is, and what its operation is called. */
const ROUTES = {
  list: { path: '', operation: 'positions' },
  position: { path: '/:id', operation: 'position' },
  pnl: { path: '/:id/pnl', operation: 'pnl' },
  events: { path: '/:id/events', operation: 'events' },
} as const

/** Describes a route of a protocol, on any network. */
export function describeRoute(
  { name, words }: { readonly name: string; readonly words: Pick<ProtocolWords, 'operation' | 'title'> },
  route: keyof typeof ROUTES,
) {
  const { path, operation } = ROUTES[route]
  return {
    method: 'GET',
    path: `/v1/positions/${name}${path}`,
    operation: `${words.operation}_${operation}`,
    tool: { ...LIQUIDITY_TOOLS[route], protocol: { code: name, name: words.title } },
    charge: POSITION_CHARGES[route],
  } as const
}

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
