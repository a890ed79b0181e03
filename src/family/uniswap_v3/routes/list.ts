import * as v from 'valibot'
import { configuredChainId, evmAddress, limit, moment, momentRule, page } from '../../../http/request/input.ts'
import { createPagination, slicePage } from '../../../http/route/page.ts'
import { receipt } from '../../../http/route/receipt.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { presentCounts } from '../../liquidity/list/counts.ts'
import { flattenPositions } from '../../liquidity/list/selection.ts'
import { fullParameter, inactiveStatus, POSITION_CHARGES, refuseFullOfInactive } from '../../liquidity/routes.ts'
import { toListError } from '../../liquidity/targets.ts'
import { getEarliestExpiryMs, isNow, readAt, toAsOf } from '../../moment.ts'
import { LIQUIDITY_TOOLS } from '../../tools.ts'
import { presentPosition } from '../present/present.ts'
import { listOutput } from '../present/schema.ts'
import { listAllUncoveredPaths } from '../present/uncovered.ts'
import { PROTOCOL } from './protocol.ts'
import { PENDING_PNL, type RoutesOptions, selectTargets } from './targets.ts'

/** Creates the route that lists a wallet's positions. */
export function listRoute({ reader: connected, histories, chainIds }: RoutesOptions): Route {
  const input = v.pipe(
    v.object({
      wallet: evmAddress,
      status: inactiveStatus,
      full: fullParameter,
      chain_id: v.optional(configuredChainId(chainIds)),
      ...moment,
      ...receipt,
      page,
      limit,
    }),
    momentRule(),
    refuseFullOfInactive(),
  )
  return defineRoute({
    method: 'GET',
    path: '/v1/positions/uniswap-v3',
    operation: 'uniswap_positions',
    tool: { ...LIQUIDITY_TOOLS.list, protocol: PROTOCOL },
    summary: 'Lists the liquidity positions of a wallet, active ones unless told otherwise.',
    input,
    output: listOutput,
    errors: [503],
    charge: POSITION_CHARGES.list,
    async read({ wallet, status, full, page, limit, ...selection }, { signal, untilMs, isStateOnly }) {
      const reader = connected()
      const readOptions = { targets: selectTargets(reader, selection), moment: selection, past: reader.past, signal }
      const list = await readAt(readOptions, async (targets) => {
        const reads = await reader.readWallet(wallet, { targets, isPriced: full, signal }).catch((error: unknown) => {
          throw toListError(error, targets)
        })
        const matching = flattenPositions(reads).filter(({ liquidity }) => liquidity > 0n === (status === undefined))
        const positions = slicePage(matching, { page, limit })
        const { positions: items, unreadable } = await reader.complete(wallet, {
          reads,
          positions,
          isPriced: full,
          signal,
        })
        return { targets, reads, matching: matching.length, items, unreadable: unreadable.length }
      })
      if (!full) return { ...list, pnls: undefined }
      const items = await reader.priceByPools(list.items, { ...list, signal }, list.reads)
      const pnls = isStateOnly
        ? items.map(() => PENDING_PNL)
        : await histories().readOutcomes(list, { signal, untilMs })
      return { ...list, items, pnls }
    },
    count: ({ items }) => items.length,
    uncovered: { isAny: ({ full }) => full, paths: ({ items }) => listAllUncoveredPaths(items) },
    // An answer with PnL is not reused: histories grow while the block stays the same.
    untilMs: ({ reads, pnls }, query) => (pnls === undefined && isNow(query) ? getEarliestExpiryMs(reads) : 0),
    present: ({ reads, matching, items, pnls, unreadable }, { page, limit }, { url }) => ({
      data: items.map((position, index) => presentPosition(position, { pnl: pnls?.[index], hasSqrtPrice: false })),
      pagination: createPagination({ page, limit, total: matching, url }),
      counts: presentCounts(reads, { filtered: matching, unreadable }),
      asOf: toAsOf(reads),
    }),
  })
}
