import type { Block } from '../../../chain/block.ts'
import { yieldToEventLoop } from '../../../lib/async/cooperative.ts'
import { UnavailableError } from '../../../lib/error.ts'
import type { Life, LifeQuestion } from './life_reader.ts'
import { type CountedOutcome, contradictionOf, type Outcome, type PnlState, type Profit, profitOf } from './profit.ts'
import type { Patience, TimedLives } from './timed_lives.ts'

/** The life of a position up to the block of an answer. */
export interface ToldLife {
  readonly chainId: number
  readonly tokenId: bigint
  readonly life: Life
  /** What the chain says about it at the block; undefined once it is burned. */
  readonly state: PnlState | undefined
  readonly block: Block
}

/** What is missing now may be there after this time. */
const RETRY_SEC = { price: 60, contradiction: 5 } as const

/** Profit and loss of a life. Throws `UnavailableError` if a price is missing or a flow must be. */
export async function profitOfLife(told: ToldLife): Promise<Profit> {
  const outcome = await outcomeOf(told)
  if (outcome.status === 'ready') return outcome.profit
  const { token, because } = outcome.missing
  const message = `Cannot price token ${token} of ${nameOf(told)} because ${because}`
  throw new UnavailableError(message, { retryAfterSec: RETRY_SEC.price })
}

/** The same, or which price is missing. Throws `UnavailableError` if a flow must be missing. */
export async function outcomeOf(told: ToldLife): Promise<CountedOutcome> {
  const outcome = await profitOf(told.life, told.state)
  if (outcome.status === 'failed') throw incomplete(told, outcome.contradiction)
  return outcome
}

/** Throws `UnavailableError` if a flow must be missing: a list with a hole is not a list either. */
export function checkLife(told: ToldLife): void {
  const contradiction = contradictionOf(told.life, told.state)
  if (contradiction !== undefined) throw incomplete(told, contradiction)
}

function incomplete(told: ToldLife, contradiction: string): UnavailableError {
  const message = `The history of ${nameOf(told)} is not complete: ${contradiction}`
  return new UnavailableError(message, { retryAfterSec: RETRY_SEC.contradiction })
}

function nameOf({ tokenId, chainId }: ToldLife): string {
  return `position ${tokenId} on chain ${chainId}`
}

/** Profit and loss of positions of a list, in their order. Waits and throws as `TimedLives`. */
export async function timedOutcomes<Question extends LifeQuestion>(
  lives: TimedLives<Question>,
  asked: readonly { readonly question: Question; readonly state: PnlState }[],
  within: Patience,
): Promise<Outcome[]> {
  const lived = await lives.read(
    asked.map(({ question }) => question),
    within,
  )
  const outcomes: Outcome[] = []
  for (const [index, { state }] of asked.entries()) {
    const life = lived[index] ?? 'failed'
    outcomes.push(typeof life === 'string' ? { status: life } : await profitOf(life, state))
    await yieldToEventLoop()
  }
  return outcomes
}
