import * as v from 'valibot'
import { PAGE_LIMIT_MAX } from '../../../http/limits.ts'
import { configuredChainId, evmWallet, limit, moment, momentRule, page } from '../../../http/request/input.ts'
import { createPagination, slicePage } from '../../../http/route/page.ts'
import { receipt } from '../../../http/route/receipt.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { mapChunks } from '../../../lib/async/parallel.ts'
import type { Work } from '../../../lib/async/work.ts'
import { CodedError } from '../../../lib/error.ts'
import { getEarliestExpiryMs, isNow, readAt, toAsOf } from '../../moment.ts'
import { presentCounts } from '../list/classify.ts'
import { flattenPositions, ListTooLongError } from '../list/selection.ts'
import type { PnlOutcome } from '../position_history/pnl.ts'
import { listAllUncoveredPaths, presentPosition } from '../present.ts'
import type { BriefPosition, LiquidityDeployment, LiquidityPosition, LiquidityProtocol } from '../protocol.ts'
import { selectTargets } from '../targets.ts'
import { describeRoute, fullParameter, inactiveStatus, refuseFullOfInactive } from './parameters.ts'
import type { LiquidityRoutesOptions } from './position_history.ts'

/** Pages of a table that are completed at the same time. */
const PAGES_AT_ONCE = 4
const FAILED: PnlOutcome = { status: 'failed' }

/** Creates the route that lists a wallet's positions. */
export function listRoute<
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: LiquidityProtocol<Deployment, Brief, Position, Withdrawal>,
  {
    reader: connected,
    histories,
    chainIds,
    deployedIds,
  }: LiquidityRoutesOptions<Deployment, Brief, Position, Withdrawal>,
): Route {
  const { words, isEnumerable } = protocol
  // Where logs find the ids, a receipt of state does not cover the list: it has no such parameter.
  const receipts = (isEnumerable ? receipt : {}) as typeof receipt
  const input = v.pipe(
    v.object({
      wallet: evmWallet,
      status: inactiveStatus,
      full: fullParameter,
      chain_id: v.optional(configuredChainId(chainIds, undefined, deployedIds)),
      ...moment,
      ...receipts,
      page,
      limit,
    }),
    momentRule(),
    refuseFullOfInactive(),
  )
  return defineRoute({
    ...describeRoute(protocol, 'list'),
    summary: `Lists the ${words.noun}s of a wallet, active ones unless told otherwise.${words.listNote ? ` ${words.listNote}` : ''}`,
    input,
    output: protocol.outputs.list,
    errors: [503],
    async read({ wallet, status, full, page, limit, ...query }, { work, untilMs, isStateOnly }) {
      const reader = connected()
      const targets = selectTargets(reader.targets, query, protocol)
      const list = await readAt({ targets, moment: query, past: reader.past, work }, async (resolved) => {
        const reads = await reader
          .readWallet(wallet, { targets: resolved, isFull: full, work, ...(!full && { shownMax: page * limit }) })
          .catch((error: unknown) => {
            throw toListError(error, resolved)
          })
        const matching = flattenPositions(reads).filter(({ liquidity }) => liquidity > 0n === (status === undefined))
        const positions = slicePage(matching, { page, limit })
        const unreadable: unknown[] = []
        const complete = async (page: readonly Brief[], shared: Work) => {
          const completed = await reader.complete(wallet, { reads, positions: page, isFull: full, work: shared })
          unreadable.push(...completed.unreadable)
          return completed.positions
        }
        // A table of the whole list is completed page by page, all of them at the block of the list.
        const items = await mapChunks(positions, { size: PAGE_LIMIT_MAX, runningMax: PAGES_AT_ONCE }, complete, work)
        return { targets: resolved, reads, matching: matching.length, items, unreadable: unreadable.length }
      })
      if (!full) return { ...list, full: undefined }
      const readPnls = (): Promise<readonly PnlOutcome[]> | readonly PnlOutcome[] =>
        isStateOnly
          ? list.items.map(() => ({ status: protocol.pnlStatusOfState }))
          : histories().readOutcomes(list, { work, untilMs })
      const [figures, pnls] = await Promise.all([
        reader.readFull(list.items, { ...list, work }, list.reads),
        readPnls(),
      ])
      return { ...list, full: figures.map((each, index) => ({ ...each, pnl: pnls[index] ?? FAILED })) }
    },
    count: ({ items }) => items.length,
    ...(isEnumerable && {
      uncovered: {
        isAny: ({ full }: { readonly full: boolean }) => full,
        paths: ({ items }: { readonly items: readonly Position[] }) => listAllUncoveredPaths(protocol, items),
      },
    }),
    // An answer with PnL is not reused: histories grow while the block stays the same.
    untilMs: ({ reads, full }, query) => (full === undefined && isNow(query) ? getEarliestExpiryMs(reads) : 0),
    present: ({ reads, matching, items, full, unreadable }, { page, limit }, { url }) => ({
      data: items.map((position, index) =>
        presentPosition(protocol, position, { full: full?.[index], hasSqrtPrice: false }),
      ),
      pagination: createPagination({ page, limit, total: matching, url }),
      counts: presentCounts(reads, { filtered: matching, unreadable }),
      asOf: toAsOf(reads),
    }),
  })
}

/** Turns `ListTooLongError` into `CodedError` INVALID_PARAMETER; returns any other error unchanged. */
function toListError(error: unknown, { length }: readonly unknown[]): unknown {
  if (!(error instanceof ListTooLongError)) return error
  const advice = length > 1 ? ': leave the chain out with the "chain_id" parameter' : ''
  return new CodedError('INVALID_PARAMETER', `${error.message}${advice}`, { cause: error })
}
