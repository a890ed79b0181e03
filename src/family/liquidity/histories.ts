import { type Address, zeroAddress } from 'viem'
import type { Block } from '../../chain/block.ts'
import type { TokenAmounts } from '../../finance/math/liquidity.ts'
import { asDirectPrice } from '../../finance/price/price.ts'
import type { PricedToken } from '../../finance/token/priced_token.ts'
import type { Tip } from '../../history/tip.ts'
import { yieldToEventLoop } from '../../lib/async/cooperative.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Clock } from '../../lib/clock.ts'
import { CodedError, UnavailableError } from '../../lib/error.ts'
import { type FamilyTarget, type HistoricalTargets, type Moment, readAt } from '../moment.ts'
import type { ClassifiedPositions } from './list/classify.ts'
import { ambiguousPositionError, selectOnlyPosition } from './list/selection.ts'
import type { OwnPrice } from './position_history/flow_price.ts'
import { computePnl, type PnlOutcome, type PnlState } from './position_history/pnl.ts'
import type { HistoryAtBlock } from './position_history/pnl_outcome.ts'
import type { PositionHistory, PositionHistoryQuery, PositionHistoryReader } from './position_history/reader.ts'
import { createTimedHistories, type TimedHistories, type WaitLimits } from './position_history/timed_histories.ts'
import type { TargetReads } from './targets.ts'

/** A position as a family reads it. */
interface ManagedPosition<Deployment> {
  readonly chainId: number
  readonly tokenId: bigint
  readonly deployment: Deployment
  readonly liquidity: bigint
  readonly pool: { readonly sqrtPriceX96: bigint }
  readonly token0: PricedToken
  readonly token1: PricedToken
}

/** A query for the history of a family's position. */
export interface ManagedHistoryQuery<Deployment, Position> extends PositionHistoryQuery {
  readonly deployment: Deployment
  /** The position at a block; undefined once it is burned. */
  readonly position: Position | undefined
}

/** A family's readers of positions and histories, and the accessors that profit and loss needs. */
interface PositionHistoriesSetup<Deployment extends { readonly startBlock: number }, Position> {
  readonly reader: {
    readonly past: HistoricalTargets<Deployment>
    /** The positions of an id on these targets, each at its block. Throws `UnavailableError`. */
    readOne(
      tokenId: bigint,
      options: Omit<TargetReads<Deployment>, 'reads'>,
    ): Promise<readonly (ClassifiedPositions<Position> & { readonly block: Block })[]>
  }
  readonly histories: PositionHistoryReader<ManagedHistoryQuery<Deployment, Position>>
  readonly clock: Clock
  readonly getManager: (deployment: Deployment) => Address
  /**
   * Amounts that withdrawing all liquidity would pay, and that collecting would pay; `counted`: what the manager counts
   * as owed, absent if it is the same.
   */
  readonly getHeldAmounts: (position: Position) => {
    readonly principal: TokenAmounts
    readonly owed: TokenAmounts
    readonly counted?: TokenAmounts
  }
  /** What a custodian holds of it and owes to it; absent if the protocol has no custodians. */
  readonly getCustody?: ((position: Position) => Pick<PnlState, 'isStaked' | 'rewards'>) | undefined
}

/** A position's history, and the position at the block. */
interface PositionHistoryRead<Position> extends HistoryAtBlock {
  readonly position: Position
}

/** Where and when positions were read. */
type Reading<Deployment> = Omit<TargetReads<Deployment>, 'work'>

interface FoundPosition<Deployment, Position> extends Reading<Deployment> {
  readonly position: Position
  readonly pendingTip?: Promise<Tip> | undefined
}

/** A position id on these targets. */
interface PositionSelection<Deployment> extends Moment {
  readonly id: bigint
  readonly targets: readonly FamilyTarget<Deployment>[]
  /** Undefined if the caller named none: searching all chains for a burned position would take too long. */
  readonly chain_id?: number | undefined
}

/** Reads histories of a family's positions for its routes. */
export type PositionHistories<
  Deployment extends { readonly startBlock: number },
  Position extends ManagedPosition<Deployment>,
> = ReturnType<typeof createPositionHistories<Deployment, Position>>

/** Creates the history reader of a family's routes. */
export function createPositionHistories<
  Deployment extends { readonly startBlock: number },
  Position extends ManagedPosition<Deployment>,
>(setup: PositionHistoriesSetup<Deployment, Position>) {
  const { reader, histories, clock, getManager, getHeldAmounts, getCustody } = setup
  const timedHistories = createTimedHistories({ histories, clock })

  const selectOnly = (reads: Awaited<ReturnType<typeof reader.readOne>>, id: bigint) =>
    selectOnlyPosition(reads, { id, getManager })

  /** The state of a position that profit and loss needs. */
  function toState(position: Position, timestampSec: bigint): PnlState {
    const { token0, token1, liquidity, pool } = position
    const { principal, owed, counted = owed } = getHeldAmounts(position)
    return {
      liquidity,
      timestampSec,
      sqrtPriceX96: pool.sqrtPriceX96,
      principal: [principal.amount0, principal.amount1],
      owed: [owed.amount0, owed.amount1],
      counted: [counted.amount0, counted.amount1],
      own: [toOwnPrice(token0), toOwnPrice(token1)],
      ...getCustody?.(position),
    }
  }

  /** The history query for a position that was read, with its target and block. */
  function toHistoryQuery(position: Position, { targets, reads }: Reading<Deployment>) {
    const { chainId, tokenId, deployment } = position
    const target = targets.find(({ client }) => client.chain.id === chainId)
    const block = reads.find((read) => read.block.chainId === chainId)?.block
    if (target === undefined || block === undefined)
      throw new Error('Cannot read the history of a position: its chain was not read')
    const { client } = target
    const manager = getManager(deployment)
    return { place: target, block, query: { client, manager, deployment, tokenId, position, block: block.number } }
  }

  async function readHistory(
    match: FoundPosition<Deployment, Position>,
    work: Work,
  ): Promise<PositionHistoryRead<Position>> {
    const { position, pendingTip } = match
    const { chainId, tokenId, deployment } = position
    const { place: target, block, query } = toHistoryQuery(position, match)
    const history = await histories.read({ ...query, pendingTip }, work)
    if (history === undefined) throw new UnavailableError(`Cannot find the mint of position ${tokenId}`)
    const toResult = (now: Position, when: Block): PositionHistoryRead<Position> => {
      return { chainId, tokenId, history, position: now, state: toState(now, when.timestampSec), block: when }
    }
    if (history.end.number >= block.number) return toResult(position, block)
    // History ends before the newest block: the whole answer is as of its end.
    const earlier = { ...target, deployments: [deployment], block: history.end }
    const atEnd = selectOnly(await reader.readOne(tokenId, { targets: [earlier], work }), tokenId)
    if (atEnd === undefined) throw new UnavailableError(`Position ${tokenId} is too new: try again in a minute`)
    return toResult(atEnd, history.end)
  }

  async function findBurned(
    { id, targets }: Pick<PositionSelection<Deployment>, 'id' | 'targets'>,
    work: Work,
  ): Promise<HistoryAtBlock | undefined> {
    const matches: { readonly chainId: number; readonly manager: Address; readonly history: PositionHistory }[] = []
    for (const { client, deployments, block } of targets) {
      for (const deployment of deployments) {
        const manager = getManager(deployment)
        const query = { client, manager, deployment, tokenId: id, position: undefined, block: block?.number }
        const history = await histories.read(query, work)
        if (history !== undefined) matches.push({ chainId: client.chain.id, manager, history })
      }
    }
    if (matches.length > 1) throw ambiguousPositionError(matches, id)
    const [first] = matches
    if (first === undefined) return undefined
    const { chainId, history } = first
    const requestedBlock = targets[0]?.block
    const block =
      requestedBlock !== undefined && requestedBlock.number < history.end.number ? requestedBlock : history.end
    return { chainId, tokenId: id, history, state: undefined, block }
  }

  return {
    /**
     * The history of a position that was read, and the position at the end of that history. Throws `UnavailableError`
     * until the history is complete.
     */
    read: readHistory,
    /**
     * The history of the one position of an id, burned or not. Throws `CodedError` NOT_FOUND, or MISSING_PARAMETER
     * naming the parameter that makes the position unambiguous; `UnavailableError` until its history is complete.
     */
    async find(
      { id, chain_id: chainId, targets: configured, ...moment }: PositionSelection<Deployment>,
      work: Work,
    ): Promise<HistoryAtBlock> {
      const [first] = configured
      const pendingTip =
        first === undefined || configured.length > 1 ? undefined : histories.readTip(first.client, work)
      const { targets, reads } = await readAt(
        { targets: configured, moment, past: reader.past, work },
        async (resolved) => ({
          targets: resolved,
          reads: await reader.readOne(id, { targets: resolved, work }),
        }),
      )
      const position = selectOnly(reads, id)
      if (position !== undefined) return await readHistory({ position, targets, reads, pendingTip }, work)
      if (chainId === undefined) {
        throw new CodedError(
          'NOT_FOUND',
          `Position ${id} does not exist on the queried position managers; a burned one needs "chain_id"`,
        )
      }
      const burned = await findBurned({ id, targets }, work)
      if (burned !== undefined) return burned
      throw new CodedError('NOT_FOUND', `Position ${id} never existed on the queried position managers`)
    },
    /** Profit and loss of listed positions, each at its block, in their order. Waits and throws as `TimedHistories`. */
    async readOutcomes(
      list: Reading<Deployment> & { readonly items: readonly Position[] },
      within: WaitLimits,
    ): Promise<readonly PnlOutcome[]> {
      const queries = list.items.map((position) => {
        const { query, block } = toHistoryQuery(position, list)
        return { query, state: toState(position, block.timestampSec) }
      })
      return await readPnlOutcomes(timedHistories, queries, within)
    },
  }
}

/** A token's price by its own sources, as in the past: no wrapper or pool price, except the native token's wrapper. */
function toOwnPrice({ address, price }: PricedToken): OwnPrice {
  if (address === zeroAddress && price?.source === 'wrapper') return { ...price, source: 'wrapper' }
  return asDirectPrice(price) ?? { because: 'no source of its price is configured or answers' }
}

/** Reads profit and loss of listed positions, in their order. Waits and throws as `TimedHistories`. */
async function readPnlOutcomes<Query extends PositionHistoryQuery>(
  histories: TimedHistories<Query>,
  queries: readonly { readonly query: Query; readonly state: PnlState }[],
  limits: WaitLimits,
): Promise<PnlOutcome[]> {
  const results = await histories.read(
    queries.map(({ query }) => query),
    limits,
  )
  const outcomes: PnlOutcome[] = []
  for (const [index, { state }] of queries.entries()) {
    const history = results[index] ?? 'failed'
    outcomes.push(typeof history === 'string' ? { status: history } : await computePnl(history, state))
    await yieldToEventLoop()
  }
  return outcomes
}
