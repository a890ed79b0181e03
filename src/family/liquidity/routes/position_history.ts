import * as v from 'valibot'
import { zeroAddress } from 'viem'
import { configuredChainId, limit, moment, momentRule, page, tokenId } from '../../../http/request/input.ts'
import { createPagination, slicePage } from '../../../http/route/page.ts'
import { defineRoute, type Route } from '../../../http/route/route.ts'
import type { Work } from '../../../lib/async/work.ts'
import { CodedError } from '../../../lib/error.ts'
import type { FamilyServices } from '../../contract.ts'
import { toAsOf } from '../../moment.ts'
import { createPositionHistories, type PositionHistories } from '../histories.ts'
import type { CustodyMark } from '../position_history/custody_mark.ts'
import { checkHistoryComplete, computePnlOrThrow } from '../position_history/pnl_outcome.ts'
import type { PositionHistory } from '../position_history/reader.ts'
import type { ValuedFlow } from '../position_history/valued_flows.ts'
import { presentFlow, presentMark, presentPnl } from '../present.ts'
import type {
  BriefPosition,
  LiquidityDeployment,
  LiquidityPosition,
  LiquidityProtocol,
  LiquidityReader,
} from '../protocol.ts'
import { eventsOutput, pnlOutput } from '../schema.ts'
import { selectTargets, type TargetSelection } from '../targets.ts'
import { describeRoute, inactiveStatus, managerAddress } from './parameters.ts'

/** Reader and histories of a protocol, for its routes. */
export interface LiquidityRoutesOptions<
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
> {
  /** All configured chains, with the protocol or without. */
  readonly chainIds: readonly number[]
  /** Those with the protocol. @default all */
  readonly deployedIds?: readonly number[]
  readonly reader: () => LiquidityReader<Deployment, Brief, Position, Withdrawal>
  readonly histories: () => PositionHistories<Deployment, Position>
}

/** Creates the histories of positions over a reader of their state. */
export function createProtocolHistories<
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: LiquidityProtocol<Deployment, Brief, Position, Withdrawal>,
  services: Pick<FamilyServices, 'db' | 'history' | 'clock'> & {
    readonly reader: Pick<LiquidityReader<Deployment, Brief, Position, Withdrawal>, 'past' | 'readOne'>
  },
): PositionHistories<Deployment, Position> {
  const { getManager, computeHeldAmounts: getHeldAmounts, createHistoryReader, getCustodian } = protocol
  const getCustody =
    getCustodian &&
    ((position: Position) => ({
      // What was sent to a custodian by a plain transfer has no owner.
      isStaked:
        getCustodian(position) !== undefined &&
        (position.owner !== zeroAddress || protocol.isOwnerKnown?.(position) === false),
      rewards: protocol.computeRewards?.(position) ?? [],
    }))
  const histories = createHistoryReader(services)
  return createPositionHistories({ ...services, histories, getManager, getHeldAmounts, getCustody })
}

/** Lists flows of a position and what custodians did with it, oldest first. Neither changes the other. */
function listEvents({ flows, custody }: PositionHistory): readonly (ValuedFlow | CustodyMark)[] {
  const marks = 'because' in custody ? [] : custody.marks
  if (marks.length === 0) return flows
  const getPlace = (each: ValuedFlow | CustodyMark) => ('row' in each ? each.row : each.event)
  return [...flows, ...marks].sort((a, b) => {
    const [first, second] = [getPlace(a), getPlace(b)]
    return first.block - second.block || first.logIndex - second.logIndex
  })
}

/** Creates the routes for the profit and loss of one position, and for the flows that it is computed from. */
export function positionHistoryRoutes<
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: LiquidityProtocol<Deployment, Brief, Position, Withdrawal>,
  { chainIds, reader, histories }: LiquidityRoutesOptions<Deployment, Brief, Position, Withdrawal>,
): readonly [pnl: Route, events: Route] {
  const { words } = protocol
  const position = {
    id: tokenId,
    chain_id: v.optional(configuredChainId(chainIds)),
    manager_address: managerAddress,
    ...moment,
  }
  const common = { errors: [404, 503, 'MISSING_PARAMETER'], feature: 'history' } as const
  const find = (query: TargetSelection & { readonly id: bigint }, work: Work) =>
    histories().find({ ...query, targets: selectTargets(reader().targets, query, protocol) }, work)
  return [
    defineRoute({
      ...common,
      ...describeRoute(protocol, 'pnl'),
      summary: `Counts the profit and loss of one ${words.noun} over the life of its token, also after it was burned.`,
      input: v.pipe(v.object({ ...position, status: inactiveStatus }), momentRule()),
      output: pnlOutput,
      async read({ status, ...query }, { work }) {
        const history = await find(query, work)
        const profit = await computePnlOrThrow(history)
        if (status === 'inactive' && !profit.isClosed) {
          const message = `Position ${history.tokenId} on chain ${history.chainId} is active: ask without "status"`
          throw new CodedError('NOT_FOUND', message)
        }
        return { told: history, profit }
      },
      present: ({ told: history, profit }) => ({ data: presentPnl(profit, history), asOf: toAsOf([history]) }),
    }),
    defineRoute({
      ...common,
      ...describeRoute(protocol, 'events'),
      summary: `Lists what went into one ${words.noun} and out of it, priced at its time, newest first.`,
      input: v.pipe(v.object({ ...position, page, limit }), momentRule()),
      output: eventsOutput,
      async read({ page, limit, ...query }, { work }) {
        const history = await find(query, work)
        checkHistoryComplete(history)
        const events = listEvents(history.history)
        return { told: history, total: events.length, events: slicePage(events.toReversed(), { page, limit }) }
      },
      present: ({ told: history, events, total }, { page, limit }, { url }) => ({
        data: events.map((event) =>
          'row' in event
            ? presentFlow(event, history.history.subject.tokens)
            : presentMark(event, history.history.subject.tokens),
        ),
        pagination: createPagination({ page, limit, total, url }),
        asOf: toAsOf([history]),
      }),
    }),
  ]
}
