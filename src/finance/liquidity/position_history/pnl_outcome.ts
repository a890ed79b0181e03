import type { Block } from '../../../chain/block.ts'
import { yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import { UnavailableError } from '../../../lib/error.ts'
import {
  type ComputedPnlOutcome,
  computePnl,
  findContradiction,
  type Pnl,
  type PnlOutcome,
  type PnlState,
} from './pnl.ts'
import type { PositionHistory, PositionHistoryQuery } from './reader.ts'
import type { TimedHistories, WaitLimits } from './timed_histories.ts'

/** The life of a position up to the block of an answer. */
export interface HistoryAtBlock {
  readonly chainId: number
  readonly tokenId: bigint
  readonly life: PositionHistory
  /** What the chain says about it at the block; undefined once it is burned. */
  readonly state: PnlState | undefined
  readonly block: Block
}

/** What is missing now may be there after this time. */
const RETRY_SEC = { price: 60, contradiction: 5 } as const

/** Profit and loss of a life. Throws `UnavailableError` if a price is missing or a flow must be. */
export async function computePnlOrThrow(told: HistoryAtBlock): Promise<Pnl> {
  const outcome = await computePnlOutcome(told)
  if (outcome.status === 'ready') return outcome.profit
  const { token, because } = outcome.missing
  const message = `Cannot price token ${token} of ${nameOf(told)} because ${because}`
  throw new UnavailableError(message, { retryAfterSec: RETRY_SEC.price })
}

/** The same, or which price is missing. Throws `UnavailableError` if a flow must be missing. */
export async function computePnlOutcome(told: HistoryAtBlock): Promise<ComputedPnlOutcome> {
  const outcome = await computePnl(told.life, told.state)
  if (outcome.status === 'failed') throw incomplete(told, outcome.contradiction)
  return outcome
}

/** Throws `UnavailableError` if a flow must be missing: a list with a hole is not a list either. */
export function checkHistoryComplete(told: HistoryAtBlock): void {
  const contradiction = findContradiction(told.life, told.state)
  if (contradiction !== undefined) throw incomplete(told, contradiction)
}

function incomplete(told: HistoryAtBlock, contradiction: string): UnavailableError {
  const message = `The history of ${nameOf(told)} is not complete: ${contradiction}`
  return new UnavailableError(message, { retryAfterSec: RETRY_SEC.contradiction })
}

function nameOf({ tokenId, chainId }: HistoryAtBlock): string {
  return `position ${tokenId} on chain ${chainId}`
}

/** Profit and loss of positions of a list, in their order. Waits and throws as `TimedHistories`. */
export async function readPnlOutcomes<Question extends PositionHistoryQuery>(
  lives: TimedHistories<Question>,
  asked: readonly { readonly question: Question; readonly state: PnlState }[],
  within: WaitLimits,
): Promise<PnlOutcome[]> {
  const lived = await lives.read(
    asked.map(({ question }) => question),
    within,
  )
  const outcomes: PnlOutcome[] = []
  for (const [index, { state }] of asked.entries()) {
    const life = lived[index] ?? 'failed'
    outcomes.push(typeof life === 'string' ? { status: life } : await computePnl(life, state))
    await yieldToEventLoop()
  }
  return outcomes
}
