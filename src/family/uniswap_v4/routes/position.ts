import * as v from 'valibot'
import { chainIdIn, evmAddress, flag, moment, momentRule, tokenId } from '../../../http/request/input.ts'
import { type Route, route } from '../../../http/route/route.ts'
import { CodedError } from '../../../lib/error.ts'
import { asOf, isNow, untilNext } from '../../place.ts'
import { presentPosition } from '../present/present.ts'
import { positionOutput } from '../present/schema.ts'
import { CHARGES } from './credits.ts'
import { onlyPositionOf, placesToAsk, readOneAt, type V4RoutesOptions } from './places.ts'

/** The state of one position. */
export function positionRoute({ reader: connected, chainIds }: V4RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      id: tokenId,
      chain_id: v.optional(chainIdIn(chainIds)),
      manager_address: v.optional(evmAddress),
      full: v.optional(flag, 'false'),
      ...moment,
    }),
    momentRule(),
  )
  return route({
    method: 'GET',
    path: '/v1/positions/uniswap-v4/:id',
    tool: 'uniswap_v4_position',
    summary: 'Reads the on-chain state of one Uniswap V4 position.',
    input,
    output: positionOutput,
    errors: [404, 503, 'MISSING_PARAMETER'],
    charge: CHARGES.position,
    async read({ id, full, ...asked }, { signal }) {
      const reader = connected()
      const places = placesToAsk(reader, asked)
      const found = await readOneAt(reader, { id, places, moment: asked }, signal)
      const position = onlyPositionOf(found.reads, id)
      if (position === undefined) throw new CodedError('NOT_FOUND', `There is no position ${id} on any manager asked`)
      const [fullPosition] = full ? await reader.readFull([position], { ...found, signal }) : []
      return { reads: found.reads, position, full: fullPosition }
    },
    untilMs: ({ reads }, asked) => (isNow(asked) ? untilNext(reads) : 0),
    present: ({ reads, position, full }) => ({
      data: presentPosition(position, { full, sqrtPrice: true }),
      asOf: asOf(reads.filter(({ block }) => block.chainId === position.chainId)),
    }),
  })
}
