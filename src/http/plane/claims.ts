import { CodedError } from '../../lib/error.ts'
import { HttpError, toHttpFailure } from '../error.ts'
import { type ClaimResult, type IdempotencyClaim, supersededError } from '../exchange/idempotency.ts'

/**
 * Idempotency keys of changes. A claim without an outcome lasts as long as a finished one: whether the change was made is
 * then unknown, and a repetition could make it twice.
 */
export interface ChangeClaims {
  claim(claim: IdempotencyClaim): Promise<ClaimResult>
  /** Records that the change was made. */
  finish(settlementId: string): Promise<void>
  /** Makes the key free again: the change was refused. */
  release(settlementId: string): Promise<void>
}

/**
 * Makes a change once per idempotency key. Answers are not stored, because some hold secrets that the service keeps as
 * hashes only. Throws `HttpError` INVALID_REQUEST 409 if the change was made or is under way, 422 if another request used
 * the key.
 */
export async function changeOnce<Result>(
  claims: ChangeClaims,
  claim: IdempotencyClaim,
  change: () => Promise<Result>,
): Promise<Result> {
  const { kind } = await claims.claim(claim)
  if (kind === 'answered') throw new HttpError('INVALID_REQUEST', DONE, { status: 409 })
  if (kind === 'busy') throw supersededError()
  if (kind !== 'claimed') throw new HttpError('INVALID_REQUEST', OTHER, { status: 422 })
  const { settlementId } = claim
  const result = await change().catch(async (error: unknown) => {
    // After any other failure, the change may have been made.
    if (isRefusal(error)) await claims.release(settlementId)
    throw error
  })
  await claims.finish(settlementId).catch(() => {
    // The change is made: its answer says so. The claim stays, and refuses repetitions as one under way.
  })
  return result
}

function isRefusal(error: unknown): boolean {
  return error instanceof CodedError && toHttpFailure(error, { badGateway: false }).status < 500
}

const DONE =
  'Cannot repeat the request: the first one with this Idempotency-Key was carried out, and its answer is not stored'
const OTHER = 'Cannot use this Idempotency-Key: another request used it in the last 24 hours'
