import { createHash } from 'node:crypto'
import { CodedError } from '../../lib/error.ts'
import { HttpError } from '../error.ts'
import { idempotencyKey } from '../request/key.ts'
import { type PreparedAnswer, successAnswer } from '../respond.ts'
import type { Route } from '../route/route.ts'
import { formatReply, withRequestId } from './response_cache.ts'

export interface IdempotencyClaim {
  readonly organizationId: string
  readonly key: string
  /** SHA-256 of the request, in hexadecimal digits. */
  readonly hash: string
  /** Settlement of the claiming request. */
  readonly settlementId: string
}

/**
 * Result of a claim. `claimed`: this request has the key. `answered`: the same request was answered before; `kept` is
 * undefined if the answer was too large to be stored. `changed`: the same request has made its change before, whose result
 * the route presents again. `busy`: the same request is under way. `other`: another request
 * has used the key. `full`: the organization has reached its limit of stored answers.
 */
export type ClaimResult =
  | { readonly kind: 'answered'; readonly kept: StoredAnswer | undefined }
  | { readonly kind: 'changed'; readonly result: unknown; readonly requestId: string }
  | { readonly kind: 'claimed' | 'busy' | 'other' | 'full' }

/** An answer as it is stored for repeated requests. */
export interface StoredAnswer {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const REPLAYED = { 'idempotency-replayed': 'true' }
const FULL_RETRY_SEC = 3_600

export interface IdempotentRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly body: Buffer | undefined
}

/** Converts an `Idempotency-Key` header to a claim. Throws `CodedError` INVALID_PARAMETER if the key is malformed. */
export function toIdempotencyClaim(
  header: string,
  { method, path, query, body }: IdempotentRequest,
  { organizationId, settlementId }: Pick<IdempotencyClaim, 'organizationId' | 'settlementId'>,
): IdempotencyClaim {
  const hash = createHash('sha256').update(`${method} ${path}?${query}\n`)
  if (body !== undefined) hash.update(body)
  return { organizationId, settlementId, key: idempotencyKey(header), hash: hash.digest('hex') }
}

/**
 * Returns the stored answer, free of charge, or presents the stored result of a change; undefined if this request has
 * the key. Throws `HttpError` otherwise.
 */
export async function toReplayedAnswer(
  claim: ClaimResult,
  { presenter }: Pick<Route, 'presenter'>,
): Promise<PreparedAnswer | undefined> {
  switch (claim.kind) {
    case 'claimed':
      return undefined
    case 'answered': {
      if (claim.kept === undefined) throw new HttpError('INVALID_REQUEST', TOO_LARGE, { status: 422 })
      const { headers, body } = claim.kept
      return { status: 200, body, credits: 0, headers: { ...headers, ...REPLAYED } }
    }
    case 'changed': {
      if (presenter === undefined) throw new Error('Cannot present a change: the route makes none')
      const { result, requestId } = claim
      const present = await presenter()
      return successAnswer(withRequestId(formatReply(present(result)), requestId), REPLAYED)
    }
    case 'busy':
      throw supersededError()
    case 'other':
      throw new HttpError('INVALID_REQUEST', OTHER, { status: 422 })
    case 'full':
      throw new HttpError('RATE_LIMIT_EXCEEDED', FULL, { headers: { 'retry-after': String(FULL_RETRY_SEC) } })
  }
}

/** Returns the part of an answer to store for repetitions; undefined for a failure. */
export function toStoredAnswer({ status, headers, body }: PreparedAnswer): StoredAnswer | undefined {
  return status === 200 && body !== null ? { headers, body } : undefined
}

/** Creates the 409 for a key whose request is still under way. */
export function supersededError(): HttpError {
  return new HttpError('INVALID_REQUEST', BUSY, { status: 409, headers: { 'retry-after': '1' } })
}

/** Rejects `Idempotency-Key` where unsupported: the sender expects a safe retry. */
export function unsupportedIdempotencyKeyError(): CodedError {
  return new CodedError('INVALID_REQUEST', 'Cannot take the header "Idempotency-Key" here: expected none')
}

const BUSY = 'Cannot answer: the first request with this Idempotency-Key is still under way'
const OTHER = 'Cannot use this Idempotency-Key: another request used it in the last 24 hours'
const TOO_LARGE =
  'Cannot repeat the answer: it was sent and charged, and is too large to be stored; use another Idempotency-Key'
const FULL = 'Cannot store more answers of this organization in 24 hours; send requests without Idempotency-Key'
