import type { Block } from '../../../chain/block.ts'
import { CodedError, UnavailableError } from '../../../lib/error.ts'
import {
  type ComputedPnlOutcome,
  computePnl,
  findContradiction,
  findCustodyGap,
  type Pnl,
  type PnlState,
} from './pnl.ts'
import type { PositionHistory } from './reader.ts'

/** The history of a position up to the block of an answer. */
export interface HistoryAtBlock {
  readonly chainId: number
  readonly tokenId: bigint
  readonly history: PositionHistory
  /** State of the position on chain at the block; undefined once it is burned. */
  readonly state: PnlState | undefined
  readonly block: Block
}

/** A missing price or flow may be there after this time. */
const RETRY_SEC = { price: 60, contradiction: 5 } as const

/**
 * Computes profit and loss of a history. Throws `UnavailableError` if a price or a flow is missing, `CodedError` NOT_FOUND
 * if neither token ever had a price when the position changed: to ask again is no use.
 */
export async function computePnlOrThrow(input: HistoryAtBlock): Promise<Pnl> {
  const outcome = await computePnlOutcome(input)
  if (outcome.status === 'ready') return outcome.pnl
  const { token, because, isLasting } = outcome.missing
  if (isLasting) {
    const message =
      `Cannot count the profit and loss of ${formatName(input)}: neither of its tokens had a price when it changed, ` +
      `${token} because ${because}; its events tell the amounts`
    throw new CodedError('NOT_FOUND', message)
  }
  const message = `Cannot price token ${token} of ${formatName(input)} because ${because}`
  throw new UnavailableError(message, { retryAfterSec: RETRY_SEC.price })
}

/** Computes profit and loss of a history, or the missing price. Throws `UnavailableError` if a flow is missing. */
export async function computePnlOutcome(input: HistoryAtBlock): Promise<ComputedPnlOutcome> {
  const outcome = await computePnl(input.history, input.state)
  if (outcome.status === 'failed') throw incompleteError(input, outcome.contradiction)
  return outcome
}

/** Throws `UnavailableError` if a flow is missing: an incomplete list of flows is an error too. */
export function checkHistoryComplete(input: HistoryAtBlock): void {
  const contradiction = findContradiction(input.history, input.state)
  if (contradiction !== undefined) throw incompleteError(input, contradiction)
  const { custody } = input.history
  const gap = 'because' in custody ? custody.because : findCustodyGap(custody.marks, input.state)
  if (gap !== undefined && !('isLasting' in custody && custody.isLasting)) throw incompleteError(input, gap)
}

function incompleteError(input: HistoryAtBlock, contradiction: string): UnavailableError {
  const message = `The history of ${formatName(input)} is not complete: ${contradiction}`
  return new UnavailableError(message, { retryAfterSec: RETRY_SEC.contradiction })
}

function formatName({ tokenId, chainId }: HistoryAtBlock): string {
  return `position ${tokenId} on chain ${chainId}`
}
