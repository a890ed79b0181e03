import { createHash } from 'node:crypto'
import { CodedError } from '../../lib/error.ts'
import { HttpError } from '../error.ts'
import { idempotencyKey } from '../request/key.ts'
import type { PreparedAnswer } from '../respond.ts'

export interface IdempotencyClaim {
  readonly organizationId: string
  readonly key: string
  /** SHA-256 of what is asked, in hexadecimal digits. */
  readonly hash: string
  /** Of the request that claims it. */
  readonly settlementId: string
}

/**
 * What became of a claim: `claimed` by this request, which answers it; the same was `answered` before, without a body if
 * that was too large to be kept; the same is being answered (`busy`); something else was asked with the key (`other`);
 * or the organization has as many answers kept as it may (`full`).
 */
export type ClaimResult =
  | { readonly kind: 'answered'; readonly kept: StoredAnswer | undefined }
  | { readonly kind: 'claimed' | 'busy' | 'other' | 'full' }

/** An answer as it is kept for whoever repeats the request. */
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

/** The claim of a header. Throws `CodedError` INVALID_PARAMETER if it has no key. */
export function toIdempotencyClaim(
  header: string,
  { method, path, query, body }: IdempotentRequest,
  { organizationId, settlementId }: Pick<IdempotencyClaim, 'organizationId' | 'settlementId'>,
): IdempotencyClaim {
  const hash = createHash('sha256').update(`${method} ${path}?${query}\n`)
  if (body !== undefined) hash.update(body)
  return { organizationId, settlementId, key: idempotencyKey(header), hash: hash.digest('hex') }
}

/** The answer that was given before, which costs nothing now; undefined if this request has the key and answers it. */
export function toReplayedAnswer(claimed: ClaimResult): PreparedAnswer | undefined {
  switch (claimed.kind) {
    case 'claimed':
      return undefined
    case 'answered': {
      if (claimed.kept === undefined) throw new HttpError('INVALID_REQUEST', TOO_LARGE, { status: 422 })
      const { headers, body } = claimed.kept
      return { status: 200, body, credits: 0, headers: { ...headers, ...REPLAYED } }
    }
    case 'busy':
      throw supersededError()
    case 'other':
      throw new HttpError('INVALID_REQUEST', OTHER, { status: 422 })
    case 'full':
      throw new HttpError('RATE_LIMIT_EXCEEDED', FULL, { headers: { 'retry-after': String(FULL_RETRY_SEC) } })
  }
}

/** What of an answer is kept for whoever repeats the request; undefined if it is not a success, or was kept before. */
export function toStoredAnswer({ status, headers, body }: PreparedAnswer): StoredAnswer | undefined {
  return status === 200 && body !== null && !('idempotency-replayed' in headers) ? { headers, body } : undefined
}

/** Another request with the same key is at work. */
export function supersededError(): HttpError {
  return new HttpError('INVALID_REQUEST', BUSY, { status: 409, headers: { 'retry-after': '1' } })
}

/** Of what does not take the key: whoever sends one believes that the request can be repeated. */
export function unsupportedIdempotencyKeyError(): CodedError {
  return new CodedError('INVALID_REQUEST', 'Cannot take the header "Idempotency-Key" here: expected none')
}

const BUSY = 'Cannot answer: the first request with this Idempotency-Key is still under way'
const OTHER = 'Cannot use this Idempotency-Key: something else was asked with it in the last 24 hours'
const TOO_LARGE =
  'Cannot repeat the answer: it was given and charged, and is too large to be kept. Ask with another Idempotency-Key'
const FULL = 'Cannot keep more answers of this organization in 24 hours: ask without Idempotency-Key'
