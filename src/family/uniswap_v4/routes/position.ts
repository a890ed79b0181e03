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
import { readHistoryIfPossible } from './position_history.ts'
import { getManager, selectTargets, type V4RoutesOptions } from './targets.ts'

const FAILED = { status: 'failed' } as const

/** The state of one position. */
export function positionRoute({ reader: connected, lives, chainIds }: V4RoutesOptions): Route {
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
    path: '/v1/positions/uniswap-v4/:id',
    tool: 'uniswap_v4_position',
    summary: 'Reads the on-chain state of one Uniswap V4 position.',
    input,
    output: positionOutput,
    errors: [404, 503, 'MISSING_PARAMETER'],
    charge: POSITION_CHARGES.position,
    async read({ id, full, ...asked }, { signal, stateAlone }) {
      const reader = connected()
      const from = { places: selectTargets(reader, asked), moment: asked, past: reader.past, signal }
      const found = await readAt(from, async (places) => ({
        places,
        reads: await reader.readOne(id, { places, signal }),
      }))
      const position = selectOnlyPosition(found.reads, { id, managerOf: getManager })
      if (position === undefined) throw new CodedError('NOT_FOUND', `There is no position ${id} on any manager asked`)
      const here = toAsOf(found.reads.filter(({ block }) => block.chainId === position.chainId))
      if (!full) return { reads: found.reads, position, full: undefined, asOf: here }
      const life = stateAlone ? undefined : await readHistoryIfPossible(lives(), { ...found, position }, signal)
      const at = life === undefined ? found : { ...found, reads: [{ block: life.block }] }
      const now = life?.position ?? position
      const [figures = { position: now, withdrawal: undefined }] = await reader.readFull([now], { ...at, signal })
      const pnl = life === undefined ? FAILED : await computePnlOutcome(life)
      return {
        reads: found.reads,
        position: now,
        full: { ...figures, pnl },
        asOf: life === undefined ? here : toAsOf([life]),
      }
    },
    uncovered: { isAny: ({ full }) => full, paths: ({ position }) => listUncoveredPaths(position) },
    untilMs: ({ reads, full }, asked) => (full === undefined && isNow(asked) ? getEarliestExpiryMs(reads) : 0),
    present: ({ position, full, asOf }) => ({ data: presentPosition(position, { full, sqrtPrice: true }), asOf }),
  })
}
