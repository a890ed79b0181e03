import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../chain/solana/client.ts'
import { configuredChainId, limit, noMoment, page, solanaAddress } from '../../../http/request/input.ts'
import { createPagination } from '../../../http/route/page.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import {
  fullParameter,
  inactiveStatus,
  POSITION_CHARGES,
  refuseFullOfInactive,
} from '../../liquidity/routes/parameters.ts'
import { SPARE_MS, toAsOfSlot } from '../../moment.ts'
import { LIQUIDITY_TOOLS } from '../../tools.ts'
import { listOutput, presentCounts, presentPosition } from '../present/position.ts'
import { BUDGET_MS, type OrcaReader } from '../read/read.ts'
import { PROTOCOL } from './protocol.ts'

/** Creates the route that lists a wallet's positions. */
export function listRoute(reader: () => OrcaReader): Route {
  const input = v.pipe(
    v.object({
      ...noMoment,
      wallet: solanaAddress,
      status: inactiveStatus,
      full: fullParameter,
      chain_id: v.optional(configuredChainId([SOLANA_CHAIN_ID], 'chain of this family')),
      page,
      limit,
    }),
    refuseFullOfInactive(),
  )
  return defineRoute({
    method: 'GET',
    path: '/v1/positions/orca-whirlpool',
    operation: 'orca_positions',
    tool: { ...LIQUIDITY_TOOLS.list, protocol: PROTOCOL },
    summary: 'Lists the Orca liquidity positions of a wallet on Solana, active ones unless told otherwise.',
    input,
    output: listOutput,
    errors: [502],
    budgetMs: BUDGET_MS + SPARE_MS,
    charge: POSITION_CHARGES.list,
    async read({ wallet, status, full, page, limit }, { signal }) {
      const isActive = status === undefined
      const read = await reader().readWallet({ wallet, isActive, isFull: full, page, limit }, signal)
      return { read, matching: isActive ? read.totalActive : read.totalInactive }
    },
    count: ({ read }) => read.positions.length,
    untilMs: ({ read }) => read.untilMs,
    present: ({ read, matching }, { page, limit }, { url }) => ({
      data: read.positions.map((position) => presentPosition(position, { hasSqrtPrice: false, hasSlot: read.isMixed })),
      pagination: createPagination({ page, limit, total: matching, url }),
      counts: presentCounts({ ...read, filtered: matching }),
      asOf: toAsOfSlot(read.slot),
    }),
  })
}
