import { type PnlFigures, pnlFigures } from '../../../finance/math/pnl/figures.ts'
import { isZero, type Pair } from '../../../finance/math/pnl/flow.ts'
import { type PnlLedger, replayInSteps } from '../../../finance/math/pnl/replay.ts'
import { sumE6, usdValue } from '../../../finance/price/price.ts'
import { runCooperatively } from '../../../lib/async/cooperative.ts'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { maxBigint } from '../../../lib/number/fixed_point.ts'
import { type CustodyHistory, type CustodyMark, NO_CUSTODY } from './custody_mark.ts'
import { computePairPrices, type MissingPrice, type OwnPrice, rawPrices, toPoolPrice } from './flow_price.ts'
import {
  lastFlow,
  liquidityAfter,
  missingPrice,
  type PnlSubject,
  pendingAfter,
  toPnlFlows,
  type ValuedFlow,
} from './valued_flows.ts'

/** State of a position on chain at the block of an answer. */
export interface PnlState {
  readonly liquidity: bigint
  /** Amounts that withdrawing all liquidity would pay, raw units. */
  readonly principal: Pair<bigint>
  /** Amounts that collecting would pay, raw units; includes withdrawn and uncollected principal. */
  readonly owed: Pair<bigint>
  /** What the manager counts as owed: its pool may owe some units less. Absent: the same. */
  readonly counted?: Pair<bigint>
  readonly own: Pair<OwnPrice>
  readonly sqrtPriceX96: bigint
  readonly timestampSec: bigint
  /** True if a custodian holds it for a wallet. @default {false} */
  readonly isStaked?: boolean
  /** What claiming each reward would pay now. @default none */
  readonly rewards?: readonly ClaimableReward[]
}

/** A reward that is not claimed yet. */
interface ClaimableReward {
  /** Smallest units. */
  readonly amount: bigint
  readonly token: { readonly decimals: number; readonly price: Decimal | undefined }
}

/** State of a burned position. */
const BURNED: Pick<PnlState, 'liquidity' | 'owed' | 'counted'> = { liquidity: 0n, owed: [0n, 0n] }

export interface Pnl {
  readonly figures: PnlFigures
  /** True if no liquidity is left. */
  readonly isClosed: boolean
  readonly rewards: RewardIncome
}

/** What rewards brought, millionths of a US dollar; or why that is not known: words after "because". */
export type RewardIncome = { readonly usdE6: bigint } | { readonly because: string }

/** Status of a position's profit and loss: `ready`, or the reason for its absence. */
export const PNL_STATUSES = ['ready', 'pending', 'unpriced', 'failed'] as const

/** Profit and loss of a position's flows; `withdrawn` is uncollected principal, raw units. */
export type ComputedPnlOutcome =
  | { readonly status: 'ready'; readonly pnl: Pnl; readonly withdrawn: Pair<bigint> }
  | { readonly status: 'unpriced'; readonly missing: MissingPrice; readonly withdrawn: Pair<bigint> }

/** The state on chain contradicts the flows, so flows are missing; `contradiction` describes it in words. */
interface ContradictedPnl {
  readonly status: 'failed'
  readonly contradiction: string
}

/** Profit and loss of a position in an answer; `pending` until its flows are read. */
export type PnlOutcome = ComputedPnlOutcome | { readonly status: 'pending' | 'failed'; readonly withdrawn?: never }

/** Describes why flows must be missing; undefined if state and flows agree. `state` as for `computePnl`. */
export function findContradiction(
  { liquidity, withdrawn }: Pick<ReplayedHistory, 'liquidity' | 'withdrawn'>,
  state: Pick<PnlState, 'liquidity' | 'owed' | 'counted'> | undefined,
): string | undefined {
  const { liquidity: expected, owed, counted = owed } = state ?? BURNED
  if (liquidity !== expected) return 'the liquidity of its flows is not what the manager says'
  if (counted[0] < withdrawn[0] || counted[1] < withdrawn[1])
    return 'its flows have more to collect than the manager says'
  return undefined
}

/**
 * Computes profit and loss of a history and checks it against the state on chain (`undefined`: the token was burned).
 * An empty position ends at its last flow: later blocks change nothing.
 */
export async function computePnl(
  history: ReplayedHistory & { readonly custody?: CustodyHistory },
  state: PnlState | undefined,
): Promise<ComputedPnlOutcome | ContradictedPnl> {
  const contradiction = findContradiction(history, state)
  if (contradiction !== undefined) return { status: 'failed', contradiction }
  const { flows, subject, withdrawn } = history
  const { owed } = state ?? BURNED
  const ledger = await history.ledger()
  if ('because' in ledger) return { status: 'unpriced', missing: ledger, withdrawn }
  const isClosed = history.liquidity === 0n
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
    fees: [maxBigint(owed[0] - withdrawn[0], 0n), maxBigint(owed[1] - withdrawn[1], 0n)],
  })
  const rewards = computeRewardIncome(history.custody ?? NO_CUSTODY, state)
  return { status: 'ready', pnl: { figures, isClosed, rewards }, withdrawn }
}

/**
 * What rewards brought: each that was paid at the price of its block, and what claiming would pay now, less what that
 * forfeits, at the price of now. Stakes must agree with the state, which tells whether a custodian holds the position.
 *
 * @figure pnl_with_rewards
 * @source `MasterChefV3.harvestOperation` and the transfer of `_safeTransfer`; `CLGauge._getReward`; Chainlink `latestRoundData` at the block
 * @proof test/contract/family/uniswap_v3/pnl/rewards_test.ts, test/unit/family/liquidity/position_history/rewards_test.ts,
 * test/contract/family/slipstream/rewards_test.ts, test/unit/family/liquidity/position_history/claims_test.ts
 */
export function computeRewardIncome(
  custody: CustodyHistory,
  state: Pick<PnlState, 'isStaked' | 'rewards'> | undefined,
): RewardIncome {
  if ('because' in custody) return custody
  const gap = findCustodyGap(custody.marks, state)
  if (gap !== undefined) return { because: gap }
  if (custody.unpaid !== undefined) return { because: custody.unpaid }
  const { rewards = [] } = state ?? {}
  const worths: Decimal[] = []
  for (const { event, reward } of custody.marks) {
    if (reward === undefined || event.amount === 0n) continue
    const { token, decimals, price } = reward
    if ('because' in price) return { because: `a reward in token ${token} has no price at its block: ${price.because}` }
    worths.push(usdValue(event.amount, { decimals, price }))
  }
  for (const { amount, token } of rewards) {
    if (amount === 0n) continue
    if (token.price === undefined) return { because: 'a reward that can be claimed has no price' }
    worths.push(usdValue(amount, { decimals: token.decimals, price: token.price }))
  }
  return { usdE6: sumE6(worths) }
}

/** Describes why stakes must be missing: they take turns, and lead to where the position is; undefined if they do. */
export function findCustodyGap(
  marks: readonly CustodyMark[],
  state: Pick<PnlState, 'isStaked'> | undefined,
): string | undefined {
  const sides = marks.flatMap(({ event: { kind } }) => (kind === 'stake' || kind === 'unstake' ? [kind] : []))
  const takeTurns = sides.every((side, index) => side === (index % 2 === 0 ? 'stake' : 'unstake'))
  const isStaked = sides.length % 2 === 1
  return takeTurns && isStaked === (state?.isStaked ?? false) ? undefined : 'its stakes are not what its custodian says'
}

/** Flows of a position, oldest first, with what they add up to. */
export interface ReplayedHistory {
  readonly flows: readonly ValuedFlow[]
  readonly subject: PnlSubject
  readonly liquidity: bigint
  /** Withdrawn and uncollected principal, raw units. */
  readonly withdrawn: Pair<bigint>
  /**
   * Replays the flows cooperatively on the first call and returns that result afterwards; the first missing price if
   * there is one. Throws as `replayInSteps`.
   */
  ledger(): Promise<PnlLedger | MissingPrice>
}

/** Creates the replay of flows; `before` is the replay of the oldest ones, which are not replayed again. */
export function replayHistory(
  flows: readonly ValuedFlow[],
  { subject, before }: { readonly subject: PnlSubject; readonly before?: ReplayedHistory | undefined },
): ReplayedHistory {
  const rows = flows.map(({ row }) => row)
  let replayed: Promise<PnlLedger | MissingPrice> | undefined

  async function replay(): Promise<PnlLedger | MissingPrice> {
    const missing = missingPrice(flows)
    if (missing !== undefined) return missing
    const ledgerBefore = await before?.ledger()
    const hasLedgerBefore = ledgerBefore !== undefined && !('because' in ledgerBefore)
    const newFlows = hasLedgerBefore ? flows.slice(before?.flows.length) : flows
    return await runCooperatively(
      replayInSteps(toPnlFlows(newFlows, subject.tokens), hasLedgerBefore ? ledgerBefore : undefined),
    )
  }

  return {
    flows,
    subject,
    liquidity: liquidityAfter(rows),
    withdrawn: pendingAfter(rows),
    ledger() {
      replayed ??= replay()
      return replayed
    },
  }
}
