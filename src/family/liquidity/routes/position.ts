import * as v from 'valibot'
import { configuredChainId, moment, momentRule, tokenId } from '../../../http/request/input.ts'
import { receipt } from '../../../http/route/receipt.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import { CodedError } from '../../../lib/error.ts'
import { getEarliestExpiryMs, isNow, readAt, toAsOf } from '../../moment.ts'
import { selectOnlyPosition } from '../list/selection.ts'
import { computePnlOutcome } from '../position_history/pnl_outcome.ts'
import { listUncoveredPaths, presentPosition } from '../present.ts'
import type { BriefPosition, LiquidityDeployment, LiquidityPosition, LiquidityProtocol } from '../protocol.ts'
import { selectTargets } from '../targets.ts'
import { describeRoute, fullParameter, managerAddress } from './parameters.ts'
import type { LiquidityRoutesOptions } from './position_history.ts'

/** Creates the route of one position's state. */
export function positionRoute<
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: LiquidityProtocol<Deployment, Brief, Position, Withdrawal>,
  { reader: connected, histories, chainIds }: LiquidityRoutesOptions<Deployment, Brief, Position, Withdrawal>,
): Route {
  const { words, getManager, isPnlImpossible = () => false } = protocol
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
    ...describeRoute(protocol, 'position'),
    summary: `Reads the on-chain state of one ${words.noun}.`,
    input,
    output: protocol.outputs.position,
    errors: [404, 503, 'MISSING_PARAMETER'],
    async read({ id, full, ...query }, { work, isStateOnly }) {
      const reader = connected()
      const configured = selectTargets(reader.targets, query, protocol)
      const match = await readAt({ targets: configured, moment: query, past: reader.past, work }, async (targets) => ({
        targets,
        reads: await reader.readOne(id, { targets, isFull: full, work }),
      }))
      const { reads } = match
      const position = selectOnlyPosition(reads, { id, getManager })
      if (position === undefined) throw new CodedError('NOT_FOUND', words.describeMissing(id))
      const asOf = toAsOf(reads.filter(({ block }) => block.chainId === position.chainId))
      if (!full) return { position, reads, full: undefined, asOf }
      const history = isStateOnly
        ? undefined
        : await histories()
            .read({ ...match, position }, work)
            .catch((error: unknown) => {
              if (isPnlImpossible(error)) return undefined
              throw error
            })
      const now = history?.position ?? position
      const context = history === undefined ? match : { ...match, reads: [{ block: history.block }] }
      const [figures = { position: now, withdrawal: undefined }] = await reader.readFull([now], { ...context, work })
      const status = isStateOnly ? protocol.pnlStatusOfState : 'failed'
      return {
        reads,
        position: now,
        full: { ...figures, pnl: history === undefined ? { status } : await computePnlOutcome(history) },
        asOf: history === undefined ? asOf : toAsOf([history]),
      }
    },
    uncovered: { isAny: ({ full }) => full, paths: ({ position }) => listUncoveredPaths(protocol, position) },
    untilMs: ({ reads, full }, query) => (full === undefined && isNow(query) ? getEarliestExpiryMs(reads) : 0),
    present: ({ position, full, asOf }) => ({
      data: presentPosition(protocol, position, { full, hasSqrtPrice: true }),
      asOf,
    }),
  })
}
