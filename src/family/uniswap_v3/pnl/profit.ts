import { type PnlFigures, pnlFigures } from '../../../finance/pnl/figures.ts'
import { type Both, isNothing, minus } from '../../../finance/pnl/flow.ts'
import { replay } from '../../../finance/pnl/replay.ts'
import { bothPrices, type MissingPrice, type OwnPrice, rawPrices } from './flow_price.ts'
import { countedFlows, type LifeFlow, lastFlow, liquidityAfter, type PnlSubject, pendingAfter } from './life.ts'
import { poolPriceOf } from './pool_price.ts'

/** What the chain says about a position at the block of an answer. */
export interface PnlState {
  readonly liquidity: bigint
  /** What withdrawing all liquidity would pay, raw units. */
  readonly principal: Both<bigint>
  /** What collecting would pay, raw units; holds what was withdrawn and not collected. */
  readonly owed: Both<bigint>
  readonly own: Both<OwnPrice>
  readonly sqrtPriceX96: bigint
  readonly timestampSec: bigint
}

/** What flows tell without prices. */
interface Told {
  /** Principal that was withdrawn and not collected, raw units. */
  readonly withdrawn: Both<bigint>
}

/** A position's profit and loss. */
export interface Profit extends Told {
  readonly figures: PnlFigures
  /** No liquidity is left. */
  readonly isClosed: boolean
}

/** A position without profit and loss, because a price is missing. */
export interface Unpriced extends Told {
  readonly missing: MissingPrice
}

/** Flows that cannot be all: what the chain says is against it. */
interface Contradicted {
  readonly contradiction: string
}

/**
 * Profit and loss of the flows of a life, held to the chain's own state (`undefined`: the token was burned). A position
 * of which nothing is left ends at its last flow: later blocks change nothing.
 */
export function profitOf(
  life: readonly LifeFlow[],
  { subject, state }: { readonly subject: PnlSubject; readonly state: PnlState | undefined },
): Profit | Unpriced | Contradicted {
  const rows = life.map(({ row }) => row)
  const [liquidity, withdrawn] = [liquidityAfter(rows), pendingAfter(rows)]
  const { liquidity: expected, owed } = state ?? { liquidity: 0n, owed: [0n, 0n] as const }
  if (liquidity !== expected) return { contradiction: 'the liquidity of its flows is not what the manager says' }
  if (owed[0] < withdrawn[0] || owed[1] < withdrawn[1]) {
    return { contradiction: 'its flows have more to collect than the manager says' }
  }
  const flows = countedFlows(life, subject.tokens)
  if ('because' in flows) return { missing: flows, withdrawn }
  const isClosed = liquidity === 0n
  const last = lastFlow(rows)
  const end = isClosed && isNothing(owed) ? life.find(({ row }) => row === last) : undefined
  const now = state && { ...state, prices: bothPrices(subject.tokens, state.own, poolPriceOf(state.sqrtPriceX96)) }
  const { timestampSec, prices } = end ?? now ?? {}
  if (timestampSec === undefined || prices === undefined) return { contradiction: 'it has no flows' }
  if ('because' in prices) return { missing: prices, withdrawn }
  const figures = pnlFigures(replay(flows), {
    timeSec: timestampSec,
    prices: rawPrices(subject.tokens, prices),
    principal: state?.principal ?? [0n, 0n],
    fees: minus(owed, withdrawn),
  })
  return { figures, isClosed, withdrawn }
}
