import { type PnlFigures, pnlFigures } from '../../math/pnl/figures.ts'
import { isZero, type Pair, subtractAmounts } from '../../math/pnl/flow.ts'
import { computePairPrices, type MissingPrice, type OwnPrice, rawPrices } from './flow_price.ts'
import { toPoolPrice } from './pool_price.ts'
import type { ReplayedHistory } from './replay.ts'
import { lastFlow } from './valued_flows.ts'

/** What the chain says about a position at the block of an answer. */
export interface PnlState {
  readonly liquidity: bigint
  /** What withdrawing all liquidity would pay, raw units. */
  readonly principal: Pair<bigint>
  /** What collecting would pay, raw units; holds what was withdrawn and not collected. */
  readonly owed: Pair<bigint>
  readonly own: Pair<OwnPrice>
  readonly sqrtPriceX96: bigint
  readonly timestampSec: bigint
}

/** What is left of a burned position. */
const BURNED = { liquidity: 0n, owed: [0n, 0n] } as const

export interface Pnl {
  readonly figures: PnlFigures
  /** No liquidity is left. */
  readonly isClosed: boolean
}

/** Whether a position's profit and loss is there, and if not, why. */
export const PNL_STATUSES = ['ready', 'pending', 'unpriced', 'failed'] as const

/** What the flows of a position come to; `withdrawn` is principal that was not collected, raw units. */
export type ComputedPnlOutcome =
  | { readonly status: 'ready'; readonly profit: Pnl; readonly withdrawn: Pair<bigint> }
  | { readonly status: 'unpriced'; readonly missing: MissingPrice; readonly withdrawn: Pair<bigint> }

/** They cannot be all: what the chain says is against it, in words. */
interface ContradictedPnl {
  readonly status: 'failed'
  readonly contradiction: string
}

/** What an answer can say of a position's profit and loss; `pending` until its flows are read. */
export type PnlOutcome = ComputedPnlOutcome | { readonly status: 'pending' | 'failed'; readonly withdrawn?: never }

/** Why the flows cannot be all, in words; undefined if nothing speaks against it. `state` as for `computePnl`. */
export function findContradiction(
  { liquidity, withdrawn }: Pick<ReplayedHistory, 'liquidity' | 'withdrawn'>,
  state: Pick<PnlState, 'liquidity' | 'owed'> | undefined,
): string | undefined {
  const { liquidity: expected, owed } = state ?? BURNED
  if (liquidity !== expected) return 'the liquidity of its flows is not what the manager says'
  if (owed[0] < withdrawn[0] || owed[1] < withdrawn[1]) return 'its flows have more to collect than the manager says'
  return undefined
}

/**
 * Profit and loss of the flows of a life, held to the chain's own state (`undefined`: the token was burned). A position
 * of which nothing is left ends at its last flow: later blocks change nothing.
 */
export async function computePnl(
  life: ReplayedHistory,
  state: PnlState | undefined,
): Promise<ComputedPnlOutcome | ContradictedPnl> {
  const contradiction = findContradiction(life, state)
  if (contradiction !== undefined) return { status: 'failed', contradiction }
  const { flows, subject, withdrawn } = life
  const { owed } = state ?? BURNED
  const ledger = await life.ledger()
  if ('because' in ledger) return { status: 'unpriced', missing: ledger, withdrawn }
  const isClosed = life.liquidity === 0n
  const last = lastFlow(flows.map(({ row }) => row))
  const end = isClosed && isZero(owed) ? flows.find(({ row }) => row === last) : undefined
  const now = state && {
    ...state,
    prices: computePairPrices(subject.tokens, state.own, toPoolPrice(state.sqrtPriceX96)),
  }
  const { timestampSec, prices } = end ?? now ?? {}
  if (timestampSec === undefined || prices === undefined) {
    return { status: 'failed', contradiction: 'it has no flows' }
  }
  if ('because' in prices) return { status: 'unpriced', missing: prices, withdrawn }
  const figures = pnlFigures(ledger, {
    timeSec: timestampSec,
    prices: rawPrices(subject.tokens, prices),
    principal: state?.principal ?? [0n, 0n],
    fees: subtractAmounts(owed, withdrawn),
  })
  return { status: 'ready', profit: { figures, isClosed }, withdrawn }
}
