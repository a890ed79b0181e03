import type { FinanceClient } from '../../../../finance/chain.ts'
import type { Pair } from '../../../../finance/math/pnl/flow.ts'
import { createLru } from '../../../../lib/lru.ts'
import type { FamilyServices } from '../../../contract.ts'
import { findContradiction } from '../../../liquidity/position_history/pnl.ts'
import { createTimedHistories } from '../../../liquidity/position_history/timed_histories.ts'
import { computeHeldAmounts } from '../../math/figures.ts'
import type { Position } from '../position.ts'
import { createUniswapV3HistoryReader } from './reader.ts'

/** Positions whose withdrawn principal is cached, and positions that are looked up for one read. */
const WITHDRAWN_MAX = 200_000
const LOOKUPS_MAX = 64
/** How long a read waits for histories; slower ones continue in the background. The timer adds its own margin. */
const WAIT_MS = 500

/**
 * Reads the principal that was withdrawn and not collected, because the manager stores one sum of it and of fees. In
 * the order of the positions; undefined if it is not known yet. Throws `AbortedError`.
 */
export type WithdrawnReader = (
  positions: readonly Position[],
  at: { readonly client: FinanceClient; readonly block: bigint },
  signal: AbortSignal,
) => Promise<readonly (Pair<bigint> | undefined)[]>

/** Creates the reader over position histories. A position is looked up once for each change of it. */
export function createWithdrawnReader(services: Pick<FamilyServices, 'db' | 'history' | 'clock'>): WithdrawnReader {
  const { clock } = services
  const timedHistories = createTimedHistories({ histories: createUniswapV3HistoryReader(services), clock })
  const withdrawnByState = createLru<Pair<bigint>>({ entriesMax: WITHDRAWN_MAX })
  return async (positions, { client, block }, signal) => {
    const missing = positions
      .filter((each) => isOwed(each) && withdrawnByState.get(getKey(each)) === undefined)
      .slice(0, LOOKUPS_MAX)
    if (missing.length > 0) {
      const queries = missing.map((position) => {
        const { deployment, tokenId } = position
        return { client, manager: deployment.manager, deployment, tokenId, position, block }
      })
      const histories = await timedHistories.read(queries, { signal, untilMs: clock.monotonicMs() + WAIT_MS })
      for (const [index, position] of missing.entries()) {
        const history = histories[index]
        if (history === undefined || typeof history === 'string') continue
        const { amount0, amount1 } = computeHeldAmounts(position).counted
        const state = { liquidity: position.liquidity, owed: [amount0, amount1] as const }
        if (findContradiction(history, state) === undefined) withdrawnByState.set(getKey(position), history.withdrawn)
      }
    }
    return positions.map((each) => (isOwed(each) ? withdrawnByState.get(getKey(each)) : [0n, 0n]))
  }
}

/** True if the manager stores an amount as owed to a position. */
export function isOwed({ owed }: Position): boolean {
  return owed.amount0 + owed.amount1 > 0n
}

/** Gets the cache key of a position in its state after the last change. */
function getKey({ chainId, deployment, tokenId, liquidity, owed, insideLast }: Position): string {
  const state = [liquidity, owed.amount0, owed.amount1, insideLast.growth0, insideLast.growth1]
  return `${chainId}:${deployment.manager}:${tokenId}:${state.join(':')}`
}
