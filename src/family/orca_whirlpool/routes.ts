import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { configuredChainId, limit, noMoment, page, solanaAddress } from '../../http/request/input.ts'
import { createPagination } from '../../http/route/page.ts'
import { defineRoute, type Route } from '../../http/route/route.ts'
import { CodedError } from '../../lib/error.ts'
import {
  fullParameter,
  inactiveStatus,
  POSITION_CHARGES,
  refuseFullOfInactive,
} from '../liquidity/routes/parameters.ts'
import { SPARE_MS, toAsOfSlot } from '../moment.ts'
import { LIQUIDITY_TOOLS } from '../tools.ts'
import { OUTPUTS, presentCounts, presentPosition } from './present.ts'
import { BUDGET_MS, type OrcaReader } from './read/read.ts'

/** The family as tools for agents name it. */
const PROTOCOL = { code: 'orca-whirlpool', name: 'Orca Whirlpools on Solana' }

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
    output: OUTPUTS.list,
    errors: [502],
    budgetMs: BUDGET_MS + SPARE_MS,
    charge: POSITION_CHARGES.list,
    async read({ wallet, status, full, page, limit }, { work }) {
      const isActive = status === undefined
      const read = await reader().readWallet({ wallet, isActive, isFull: full, page, limit }, work)
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

/** Creates the route for the state of one position. */
export function positionRoute(reader: () => OrcaReader): Route {
  const input = v.object({
    ...noMoment,
    id: solanaAddress,
    wallet: solanaAddress,
    full: fullParameter,
    chain_id: v.optional(configuredChainId([SOLANA_CHAIN_ID], 'chain of this family')),
  })
  return defineRoute({
    method: 'GET',
    path: '/v1/positions/orca-whirlpool/:id',
    operation: 'orca_position',
    tool: { ...LIQUIDITY_TOOLS.position, protocol: PROTOCOL },
    summary: 'Reads the on-chain state of one Orca liquidity position on Solana.',
    description:
      "The id is the mint of the position's token, or its address. The wallet that holds the token must be named, " +
      'because public endpoints do not tell who holds it.',
    input,
    output: OUTPUTS.position,
    errors: [404, 502],
    budgetMs: BUDGET_MS + SPARE_MS,
    charge: POSITION_CHARGES.position,
    async read({ id, wallet, full }, { work }) {
      const read = await reader().readOne({ id, wallet, isFull: full }, work)
      if (read.kind === 'found') return read
      if (read.reason === 'bundle') {
        const message =
          'expected one position, this is a bundle of them: /v1/positions/orca-whirlpool?wallet= lists them'
        throw new CodedError('INVALID_PARAMETER', `Cannot read parameter "id": ${message}`)
      }
      throw new CodedError('NOT_FOUND', `Cannot find Orca position ${id}: ${NOT_FOUND_REASONS[read.reason](wallet)}`)
    },
    untilMs: ({ untilMs }) => untilMs,
    present: ({ position }) => ({
      data: presentPosition(position, { hasSqrtPrice: true, hasSlot: false }),
      asOf: toAsOfSlot(position.slot),
    }),
  })
}

const NOT_FOUND_REASONS = {
  none: () => 'there is no such position, or it is closed and its token is gone',
  closed: () => 'it is closed or never was a position: the supply of this mint is 0',
  not_held: (wallet: string) => `wallet ${wallet} does not hold its token`,
} as const
