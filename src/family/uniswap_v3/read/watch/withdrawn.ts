import type { FinanceClient } from '../../../../finance/chain.ts'
import { findContradiction } from '../../../../finance/liquidity/position_history/pnl.ts'
import type { TimedHistories } from '../../../../finance/liquidity/position_history/timed_histories.ts'
import type { Pair } from '../../../../finance/math/pnl/flow.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { createLru } from '../../../../lib/lru.ts'
import { computeHeldAmounts } from '../../math/figures.ts'
import type { Position } from '../position.ts'
import type { UniswapV3HistoryQuery } from '../position_history/reader.ts'

/** Positions whose withdrawals are remembered, and those that are looked up for one reading. */
const KNOWN_MAX = 200_000
const ASKED_MAX = 64
/** How long a reading waits for histories; what takes longer goes on in the background. The timing adds its own spare. */
const WAIT_MS = 500

/**
 * Tells principal that was withdrawn and not collected: the manager keeps one sum of it and of fees. In the order of the
 * positions; undefined if it is not known yet. Throws `AbortedError`.
 */
type WithdrawnOf = (
  positions: readonly Position[],
  at: { readonly client: FinanceClient; readonly block: bigint },
  signal: AbortSignal,
) => Promise<readonly (Pair<bigint> | undefined)[]>

/** Makes it over lives. A position is looked up once for each change of it. */
export function createWithdrawnReader(options: {
  readonly timedLives: TimedHistories<UniswapV3HistoryQuery>
  readonly clock: Clock
}): WithdrawnOf {
  const { timedLives, clock } = options
  const known = createLru<Pair<bigint>>({ entriesMax: KNOWN_MAX })
  return async (positions, { client, block }, signal) => {
    const asked = positions.filter((each) => isOwed(each) && known.get(keyOf(each)) === undefined).slice(0, ASKED_MAX)
    if (asked.length > 0) {
      const questions = asked.map((position) => {
        const { deployment, tokenId } = position
        return { client, manager: deployment.manager, deployment, tokenId, position, block }
      })
      const lives = await timedLives.read(questions, { signal, untilMs: clock.monotonicMs() + WAIT_MS })
      for (const [index, position] of asked.entries()) {
        const life = lives[index]
        if (life === undefined || typeof life === 'string') continue
        const { amount0, amount1 } = computeHeldAmounts(position).owed
        const state = { liquidity: position.liquidity, owed: [amount0, amount1] as const }
        if (findContradiction(life, state) === undefined) known.set(keyOf(position), life.withdrawn)
      }
    }
    return positions.map((each) => (isOwed(each) ? known.get(keyOf(each)) : [0n, 0n]))
  }
}

function isOwed({ owed }: Position): boolean {
  return owed.amount0 + owed.amount1 > 0n
}

/** Names a position as it was left by its last change. */
function keyOf({ chainId, deployment, tokenId, liquidity, owed, insideLast }: Position): string {
  const state = [liquidity, owed.amount0, owed.amount1, insideLast.growth0, insideLast.growth1]
  return `${chainId}:${deployment.manager}:${tokenId}:${state.join(':')}`
}
