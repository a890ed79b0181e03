import type { FinanceClient } from '../../finance/chain.ts'
import type { Pair } from '../../finance/math/pnl/flow.ts'
import type { Work } from '../../lib/async/work.ts'
import { createLru } from '../../lib/lru.ts'
import type { FamilyServices } from '../contract.ts'
import { findContradiction } from './position_history/pnl.ts'
import { createTimedHistories } from './position_history/timed_histories.ts'
import type { BriefPosition, LiquidityDeployment, LiquidityPosition, LiquidityProtocol } from './protocol.ts'

/** Positions whose withdrawn principal is cached, and positions that are looked up for one read. */
const WITHDRAWN_MAX = 200_000
const LOOKUPS_MAX = 64
/** How long a read waits for histories; slower ones continue in the background. The timer adds its own margin. */
const WAIT_MS = 500

/**
 * Reads the principal that was withdrawn and not collected, because the manager stores one sum of it and of fees. In
 * the order of the positions; undefined if it is not known yet. Throws `AbortedError`.
 */
export type WithdrawnReader<Position> = (
  positions: readonly Position[],
  at: { readonly client: FinanceClient; readonly block: bigint },
  work: Work,
) => Promise<readonly (Pair<bigint> | undefined)[]>

/** Returns the reader as a receipt needs it, if one is made: of a family's positions on a chain it is asked once. */
export function testifyWithdrawn<Position>(
  read: WithdrawnReader<Position>,
  family: string,
  { testimony }: Pick<FamilyServices, 'testimony'>,
): WithdrawnReader<Position> {
  if (testimony === undefined) return read
  return async (positions, at, work) => {
    const subject = { chainId: at.client.chain.id, name: `${family} withdrawn` }
    const texts = await testimony.tell(subject, async (client) => {
      const principals = await read(positions, { ...at, client }, work)
      return principals.map((principal) => principal?.join() ?? '')
    })
    return positions.map((_, index) => {
      const [amount0, amount1] = texts[index]?.split(',') ?? []
      return amount0 === undefined || amount1 === undefined ? undefined : [BigInt(amount0), BigInt(amount1)]
    })
  }
}

/**
 * Creates the reader over position histories. A position is looked up once for each change of it. Without `withdrawn`
 * the protocol keeps no principal, and nothing is read.
 */
export function createWithdrawnReader<
  Deployment extends LiquidityDeployment,
  Brief extends BriefPosition,
  Position extends LiquidityPosition<Deployment>,
  Withdrawal,
>(
  protocol: LiquidityProtocol<Deployment, Brief, Position, Withdrawal>,
  services: Pick<FamilyServices, 'db' | 'history' | 'clock'>,
): WithdrawnReader<Position> {
  const { withdrawn, getManager, computeHeldAmounts, createHistoryReader } = protocol
  if (withdrawn === undefined) return async (positions) => positions.map(() => undefined)
  const { isOwed, listState } = withdrawn
  const { clock } = services
  const timedHistories = createTimedHistories({ histories: createHistoryReader(services), clock })
  const withdrawnByState = createLru<Pair<bigint>>({ entriesMax: WITHDRAWN_MAX })
  /** Gets the cache key of a position in its state after the last change. */
  const getKey = (position: Position) =>
    `${position.chainId}:${getManager(position.deployment)}:${position.tokenId}:${listState(position).join(':')}`
  return async (positions, { client, block }, work) => {
    const missing = positions
      .filter((each) => isOwed(each) && withdrawnByState.get(getKey(each)) === undefined)
      .slice(0, LOOKUPS_MAX)
    if (missing.length > 0) {
      const queries = missing.map((position) => {
        const { deployment, tokenId } = position
        return { client, manager: getManager(deployment), deployment, tokenId, position, block }
      })
      const histories = await timedHistories.read(queries, { work, untilMs: clock.monotonicMs() + WAIT_MS })
      for (const [index, position] of missing.entries()) {
        const history = histories[index]
        if (history === undefined || typeof history === 'string') continue
        const { owed, counted: { amount0, amount1 } = owed } = computeHeldAmounts(position)
        const state = { liquidity: position.liquidity, owed: [amount0, amount1] as const }
        if (findContradiction(history, state) === undefined) withdrawnByState.set(getKey(position), history.withdrawn)
      }
    }
    return positions.map((each) => (isOwed(each) ? withdrawnByState.get(getKey(each)) : [0n, 0n]))
  }
}
