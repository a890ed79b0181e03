import { type PnlFigures, pnlFigures } from '../../math/pnl/figures.ts'
import { type Both, isNothing, minus } from '../../math/pnl/flow.ts'
import type { Count } from './count.ts'
import { bothPrices, type MissingPrice, type OwnPrice, rawPrices } from './flow_price.ts'
import { type LifeFlow, lastFlow, type PnlSubject } from './life.ts'
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

/** What is left of a burned position. */
const BURNED = { liquidity: 0n, owed: [0n, 0n] } as const

interface Withdrawals {
  /** Principal that was withdrawn and not collected, raw units. */
  readonly withdrawn: Both<bigint>
}

export interface Profit extends Withdrawals {
  readonly figures: PnlFigures
  /** No liquidity is left. */
  readonly isClosed: boolean
}

/** A position without profit and loss, because a price is missing. */
export interface Unpriced extends Withdrawals {
  readonly missing: MissingPrice
}

/** Flows that cannot be all: what the chain says is against it. */
interface Contradicted {
  readonly contradiction: string
}

/** Flows of a position with what they add up to. */
export interface CountedLife {
  readonly flows: readonly LifeFlow[]
  readonly subject: PnlSubject
  readonly count: Count
}

/** Why the flows cannot be all, in words; undefined if nothing speaks against it. `state` as for `profitOf`. */
export function contradictionOf(
  { count }: Pick<CountedLife, 'count'>,
  state: Pick<PnlState, 'liquidity' | 'owed'> | undefined,
): string | undefined {
  const { liquidity, withdrawn } = count
  const { liquidity: expected, owed } = state ?? BURNED
  if (liquidity !== expected) return 'the liquidity of its flows is not what the manager says'
  if (owed[0] < withdrawn[0] || owed[1] < withdrawn[1]) return 'its flows have more to collect than the manager says'
  return undefined
}

/**
 * Profit and loss of the flows of a life, held to the chain's own state (`undefined`: the token was burned). A position
 * of which nothing is left ends at its last flow: later blocks change nothing.
 */
export async function profitOf(
  life: CountedLife,
  state: PnlState | undefined,
): Promise<Profit | Unpriced | Contradicted> {
  const contradiction = contradictionOf(life, state)
  if (contradiction !== undefined) return { contradiction }
  const { flows, subject, count } = life
  const { liquidity, withdrawn } = count
  const { owed } = state ?? BURNED
  const ledger = await count.ledger()
  if ('because' in ledger) return { missing: ledger, withdrawn }
  const isClosed = liquidity === 0n
  const last = lastFlow(flows.map(({ row }) => row))
  const end = isClosed && isNothing(owed) ? flows.find(({ row }) => row === last) : undefined
  const now = state && { ...state, prices: bothPrices(subject.tokens, state.own, poolPriceOf(state.sqrtPriceX96)) }
  const { timestampSec, prices } = end ?? now ?? {}
  if (timestampSec === undefined || prices === undefined) return { contradiction: 'it has no flows' }
  if ('because' in prices) return { missing: prices, withdrawn }
  const figures = pnlFigures(ledger, {
    timeSec: timestampSec,
    prices: rawPrices(subject.tokens, prices),
    principal: state?.principal ?? [0n, 0n],
    fees: minus(owed, withdrawn),
  })
  return { figures, isClosed, withdrawn }
}

/** Whether a position's profit and loss is there, and if not, why. */
export const PNL_STATUSES = ['ready', 'pending', 'unpriced', 'failed'] as const

type Status = (typeof PNL_STATUSES)[number]

/** What an answer can say of a position's profit and loss. */
export type Outcome = Ready | NotReady

interface Ready {
  readonly status: 'ready'
  readonly profit: Profit
  /** Principal that was withdrawn and not collected, raw units. */
  readonly withdrawn: Both<bigint>
}

interface NotReady {
  /** `pending`: its flows are not read yet; `failed`: they could not be, or they cannot be all. */
  readonly status: Exclude<Status, 'ready'>
  /** Undefined if its flows are not known. */
  readonly withdrawn?: Both<bigint>
}

/** The outcome of counting the flows of a position. */
export function outcomeOf(counted: Profit | Unpriced): Outcome {
  const { withdrawn } = counted
  return 'missing' in counted ? { status: 'unpriced', withdrawn } : { status: 'ready', profit: counted, withdrawn }
}
