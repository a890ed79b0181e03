import { CodedError } from '../../lib/error.ts'
import { IDEMPOTENCY_KEY_LENGTH_MAX, KEY_LENGTH_MAX } from '../limits.ts'

/** The scheme in any case, as HTTP has it. */
const BEARER = /^bearer [\x21-\x7e]+$/i
const SCHEME_LENGTH = 'bearer '.length

/**
 * Returns the key of an `Authorization` header that is exactly `Bearer <key>`, else undefined. Repeated headers arrive
 * joined by a comma and a space, which no key contains.
 */
export function bearerKey(authorization: string | null): string | undefined {
  if (authorization === null || !BEARER.test(authorization)) return undefined
  const key = authorization.slice(SCHEME_LENGTH)
  return key.length <= KEY_LENGTH_MAX ? key : undefined
}

/** Header that identifies a request, so that a repetition repeats neither its work nor its charge. */
export const IDEMPOTENCY_KEY = 'idempotency-key'

/** A string of structured fields, RFC 8941: in quotes, with a backslash before quotes and backslashes. */
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
/** A key without quotes, as many clients send it. Repeated headers arrive joined by a comma and a space: no match. */
const BARE = /^[\x21\x23-\x7e]+$/

/** Parses the key of an `Idempotency-Key` header. Throws `CodedError` INVALID_PARAMETER if it is malformed. */
export function idempotencyKey(header: string): string {
  const key = QUOTED.exec(header)?.[1]?.replace(/\\(.)/g, '$1') ?? BARE.exec(header)?.[0] ?? ''
  if (key.length >= 1 && key.length <= IDEMPOTENCY_KEY_LENGTH_MAX) return key
  throw new CodedError(
    'INVALID_PARAMETER',
    `Cannot read header "Idempotency-Key": expected 1 to ${IDEMPOTENCY_KEY_LENGTH_MAX} visible ASCII characters`,
  )
}
