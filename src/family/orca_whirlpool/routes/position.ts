import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../../chain/solana/client.ts'
import { configuredChainId, noMoment, solanaAddress } from '../../../http/request/input.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { CodedError } from '../../../lib/error.ts'
import { fullParameter, POSITION_CHARGES } from '../../liquidity/routes/parameters.ts'
import { SPARE_MS, toAsOfSlot } from '../../moment.ts'
import { LIQUIDITY_TOOLS } from '../../tools.ts'
import { positionOutput, presentPosition } from '../present/position.ts'
import { BUDGET_MS, type OrcaReader } from '../read/read.ts'
import { PROTOCOL } from './protocol.ts'

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
    output: positionOutput,
    errors: [404, 502],
    budgetMs: BUDGET_MS + SPARE_MS,
    charge: POSITION_CHARGES.position,
    async read({ id, wallet, full }, { signal }) {
      const read = await reader().readOne({ id, wallet, isFull: full }, signal)
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
