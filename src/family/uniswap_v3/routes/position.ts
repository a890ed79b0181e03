import * as v from 'valibot'
import { configuredChainId, moment, momentRule, tokenId } from '../../../http/request/input.ts'
import { receipt } from '../../../http/route/receipt.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { CodedError } from '../../../lib/error.ts'
import { selectOnlyPosition } from '../../liquidity/list/selection.ts'
import { computePnlOutcome } from '../../liquidity/position_history/pnl_outcome.ts'
import { fullParameter, managerAddress, POSITION_CHARGES } from '../../liquidity/routes.ts'
import { getEarliestExpiryMs, isNow, readAt, toAsOf } from '../../moment.ts'
import { LIQUIDITY_TOOLS } from '../../tools.ts'
import { presentPosition } from '../present/present.ts'
import { positionOutput } from '../present/schema.ts'
import { listUncoveredPaths } from '../present/uncovered.ts'
import { PROTOCOL } from './protocol.ts'
import { getManager, PENDING_PNL, type RoutesOptions, selectTargets } from './targets.ts'

/** Creates the route for the state of one position. */
export function positionRoute({ reader: connected, histories, chainIds }: RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      id: tokenId,
      chain_id: v.optional(configuredChainId(chainIds)),
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
    operation: 'uniswap_position',
    tool: { ...LIQUIDITY_TOOLS.position, protocol: PROTOCOL },
    summary: 'Reads the on-chain state of one liquidity position.',
    input,
    output: positionOutput,
    errors: [404, 503, 'MISSING_PARAMETER'],
    charge: POSITION_CHARGES.position,
    async read({ id, full, ...selection }, { signal, isStateOnly }) {
      const reader = connected()
      const readOptions = { targets: selectTargets(reader, selection), moment: selection, past: reader.past, signal }
      const { targets, reads } = await readAt(readOptions, async (here) => ({
        targets: here,
        reads: await reader.readOne(id, { targets: here, isPriced: full, signal }),
      }))
      const position = selectOnlyPosition(reads, { id, getManager })
      if (position === undefined)
        throw new CodedError('NOT_FOUND', `Position ${id} does not exist on the queried position managers`)
      const here = toAsOf(reads.filter(({ block }) => block.chainId === position.chainId))
      if (!full) return { position, reads, asOf: here }
      if (isStateOnly) {
        const [priced = position] = await reader.priceByPools([position], { targets, reads, signal })
        return { position: priced, reads, pnl: PENDING_PNL, asOf: here }
      }
      const positionHistory = await histories().read({ position, targets, reads }, signal)
      const { block } = positionHistory
      const targetReads = { targets, reads: [{ block }], signal }
      const [priced = positionHistory.position] = await reader.priceByPools([positionHistory.position], targetReads)
      return {
        reads,
        position: priced,
        pnl: await computePnlOutcome(positionHistory),
        asOf: toAsOf([positionHistory]),
      }
    },
    uncovered: { isAny: ({ full }) => full, paths: ({ position }) => listUncoveredPaths(position, 'data') },
    untilMs: ({ reads, pnl }, query) => (pnl === undefined && isNow(query) ? getEarliestExpiryMs(reads) : 0),
    present: ({ position, pnl, asOf }) => ({ data: presentPosition(position, { pnl, hasSqrtPrice: true }), asOf }),
  })
}
