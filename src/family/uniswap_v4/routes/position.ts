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
import { readHistoryIfPossible } from './position_history.ts'
import { PROTOCOL } from './protocol.ts'
import { getManager, selectTargets, type V4RoutesOptions } from './targets.ts'

const FAILED = { status: 'failed' } as const

/** Creates the route of one position's state. */
export function positionRoute({ reader: getReader, histories, chainIds }: V4RoutesOptions): Route {
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
    path: '/v1/positions/uniswap-v4/:id',
    operation: 'uniswap_v4_position',
    tool: { ...LIQUIDITY_TOOLS.position, protocol: PROTOCOL },
    summary: 'Reads the on-chain state of one Uniswap V4 position.',
    input,
    output: positionOutput,
    errors: [404, 503, 'MISSING_PARAMETER'],
    charge: POSITION_CHARGES.position,
    async read({ id, full, ...query }, { signal, isStateOnly: stateAlone }) {
      const reader = getReader()
      const reading = { targets: selectTargets(reader, query), moment: query, past: reader.past, signal }
      const match = await readAt(reading, async (targets) => ({
        targets,
        reads: await reader.readOne(id, { targets, signal }),
      }))
      const position = selectOnlyPosition(match.reads, { id, getManager })
      if (position === undefined) throw new CodedError('NOT_FOUND', `There is no position ${id} on any manager asked`)
      const asOfReads = toAsOf(match.reads.filter(({ block }) => block.chainId === position.chainId))
      if (!full) return { reads: match.reads, position, full: undefined, asOf: asOfReads }
      const history = stateAlone ? undefined : await readHistoryIfPossible(histories(), { ...match, position }, signal)
      const context = history === undefined ? match : { ...match, reads: [{ block: history.block }] }
      const now = history?.position ?? position
      const [figures = { position: now, withdrawal: undefined }] = await reader.readFull([now], { ...context, signal })
      const pnl = history === undefined ? FAILED : await computePnlOutcome(history)
      return {
        reads: match.reads,
        position: now,
        full: { ...figures, pnl },
        asOf: history === undefined ? asOfReads : toAsOf([history]),
      }
    },
    uncovered: { isAny: ({ full }) => full, paths: ({ position }) => listUncoveredPaths(position) },
    untilMs: ({ reads, full }, query) => (full === undefined && isNow(query) ? getEarliestExpiryMs(reads) : 0),
    present: ({ position, full, asOf }) => ({ data: presentPosition(position, { full, sqrtPrice: true }), asOf }),
  })
}
