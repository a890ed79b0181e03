import * as v from 'valibot'
import { configuredChainId, evmAddress, limit, moment, momentRule, page } from '../../../http/request/input.ts'
import { createPagination, slicePage } from '../../../http/route/page.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { presentCounts } from '../../liquidity/list/counts.ts'
import { flattenPositions } from '../../liquidity/list/selection.ts'
import { fullParameter, inactiveStatus, POSITION_CHARGES, refuseFullOfInactive } from '../../liquidity/routes.ts'
import { toListError } from '../../liquidity/targets.ts'
import { getEarliestExpiryMs, isNow, readAt, toAsOf } from '../../moment.ts'
import { LIQUIDITY_TOOLS } from '../../tools.ts'
import { presentPosition } from '../present/present.ts'
import { listOutput } from '../present/schema.ts'
import { PROTOCOL } from './protocol.ts'
import { selectTargets, type V4RoutesOptions } from './targets.ts'

const FAILED = { status: 'failed' } as const

/** Creates the route that lists a wallet's positions. */
export function listRoute({ reader: getReader, histories, chainIds }: V4RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      wallet: evmAddress,
      status: inactiveStatus,
      full: fullParameter,
      chain_id: v.optional(configuredChainId(chainIds)),
      ...moment,
      page,
      limit,
    }),
    momentRule(),
    refuseFullOfInactive(),
  )
  return defineRoute({
    method: 'GET',
    path: '/v1/positions/uniswap-v4',
    operation: 'uniswap_v4_positions',
    tool: { ...LIQUIDITY_TOOLS.list, protocol: PROTOCOL },
    summary:
      'Lists the Uniswap V4 positions of a wallet, active ones unless told otherwise. The first call for a wallet may ' +
      'answer 503 while they are searched.',
    input,
    output: listOutput,
    errors: [503],
    charge: POSITION_CHARGES.list,
    async read({ wallet, status, full, page, limit, ...query }, { signal, untilMs }) {
      const reader = getReader()
      const reading = { targets: selectTargets(reader, query), moment: query, past: reader.past, signal }
      const list = await readAt(reading, async (targets) => {
        const reads = await reader.readWallet(wallet, { targets, full, signal }).catch((error: unknown) => {
          throw toListError(error, targets)
        })
        const matching = flattenPositions(reads).filter(({ liquidity }) => liquidity > 0n === (status === undefined))
        return {
          targets,
          reads,
          matching: matching.length,
          items: slicePage(matching, { page, limit }).map((each) => each.whole()),
        }
      })
      if (!full) return { ...list, full: undefined }
      const [figures, pnls] = await Promise.all([
        reader.readFull(list.items, { ...list, signal }, list.reads),
        histories().readOutcomes(list, { signal, untilMs }),
      ])
      return { ...list, full: figures.map((each, index) => ({ ...each, pnl: pnls[index] ?? FAILED })) }
    },
    count: ({ items }) => items.length,
    // Profit and loss comes from histories, which grow while the block stays the same.
    untilMs: ({ reads, full }, query) => (full === undefined && isNow(query) ? getEarliestExpiryMs(reads) : 0),
    present: ({ reads, matching, items, full }, { page, limit }, { url }) => ({
      data: items.map((position, index) => presentPosition(position, { full: full?.[index], sqrtPrice: false })),
      pagination: createPagination({ page, limit, total: matching, url }),
      counts: presentCounts(reads, { filtered: matching }),
      asOf: toAsOf(reads),
    }),
  })
}
