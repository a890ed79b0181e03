import * as v from 'valibot'
import { selectOnlyPosition } from '../../../finance/liquidity/list/selection.ts'
import { computePnlOutcome } from '../../../finance/liquidity/position_history/pnl_outcome.ts'
import { chainIdIn, moment, momentRule, tokenId } from '../../../http/request/input.ts'
import { receipt } from '../../../http/route/receipt.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { CodedError } from '../../../lib/error.ts'
import { fullParameter, managerAddress, POSITION_CHARGES } from '../../position_routes.ts'
import { getEarliestExpiryMs, isNow, readAt, toAsOf } from '../../target.ts'
import { presentPosition } from '../present/present.ts'
import { positionOutput } from '../present/schema.ts'
import { listUncoveredPaths } from '../present/uncovered.ts'
import { getManager, PENDING_PNL, type RoutesOptions, selectTargets } from './targets.ts'

/** The state of one position. */
export function positionRoute({ reader: connected, lives, chainIds }: RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      id: tokenId,
      chain_id: v.optional(chainIdIn(chainIds)),
      manager_address: managerAddress,
      full: fullParameter,
      ...moment,
      ...receipt,
    }),
    momentRule(),
  )
  return defineRoute({
    method: 'GET',
    path: '/v1/positions/uniswap-v3/:id',
    tool: 'uniswap_position',
    summary: 'Reads the on-chain state of one liquidity position.',
    input,
    output: positionOutput,
    errors: [404, 503, 'MISSING_PARAMETER'],
    charge: POSITION_CHARGES.position,
    async read({ id, full, ...asked }, { signal, stateAlone }) {
      const reader = connected()
      const from = { places: selectTargets(reader, asked), moment: asked, past: reader.past, signal }
      const { places, reads } = await readAt(from, async (here) => ({
        places: here,
        reads: await reader.readOne(id, { places: here, isPriced: full, signal }),
      }))
      const position = selectOnlyPosition(reads, { id, managerOf: getManager })
      if (position === undefined) throw new CodedError('NOT_FOUND', `There is no position ${id} on any manager asked`)
      const here = toAsOf(reads.filter(({ block }) => block.chainId === position.chainId))
      if (!full) return { position, reads, asOf: here }
      if (stateAlone) {
        const [priced = position] = await reader.priceByPools([position], { places, reads, signal })
        return { position: priced, reads, pnl: PENDING_PNL, asOf: here }
      }
      const positionLife = await lives().of({ position, places, reads }, signal)
      const { block } = positionLife
      const at = { places, reads: [{ block }], signal }
      const [priced = positionLife.position] = await reader.priceByPools([positionLife.position], at)
      return {
        reads,
        position: priced,
        pnl: await computePnlOutcome(positionLife),
        asOf: toAsOf([positionLife]),
      }
    },
    uncovered: { isAny: ({ full }) => full, paths: ({ position }) => listUncoveredPaths(position, 'data') },
    untilMs: ({ reads, pnl }, asked) => (pnl === undefined && isNow(asked) ? getEarliestExpiryMs(reads) : 0),
    present: ({ position, pnl, asOf }) => ({ data: presentPosition(position, { pnl, sqrtPrice: true }), asOf }),
  })
}
