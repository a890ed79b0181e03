import { CodedError } from '../../lib/error.ts'
import { preflightHeaders } from '../cors.ts'
import { HttpError } from '../error.ts'
import type { PreparedAnswer } from '../respond.ts'
import type { Found } from '../route_table.ts'
import type { Admission, RefusalCode } from './gate.ts'

const REFUSALS: Readonly<Record<RefusalCode, string>> = {
  ORGANIZATION_NOT_FOUND: 'Cannot find the organization of this key',
  ACCOUNT_SUSPENDED: 'Cannot answer: the organization is suspended',
  ENDPOINT_DISABLED: 'Cannot answer: the operator has switched this endpoint off',
  RATE_LIMIT_EXCEEDED: 'Cannot answer: the organization has used up its requests of this second',
}

/** What a path says that has no work for this method. Throws NOT_FOUND, or INVALID_REQUEST with status 405. */
export function withoutWork(found: Exclude<Found, { readonly kind: 'endpoint' }>, method: string): PreparedAnswer {
  if (found.kind === 'unknown') throw new CodedError('NOT_FOUND', 'Cannot find this path')
  if (method === 'OPTIONS') return { status: 204, body: null, credits: 0, headers: preflightHeaders(found.allow) }
  throw new HttpError('INVALID_REQUEST', `Cannot use this method here: expected ${found.allow}`, {
    status: 405,
    headers: { allow: found.allow },
  })
}

/** One message for every way in which a key can be wrong. */
export function unknownKey(): HttpError {
  return new HttpError(
    'INVALID_API_KEY',
    'Cannot authenticate: expected the header "Authorization: Bearer <API key>"',
    {
      headers: { 'www-authenticate': 'Bearer' },
    },
  )
}

/** Why the gate turned a recognised key away. */
export function refusal({ code, rateLimit }: Extract<Admission, { readonly kind: 'refused' }>): CodedError {
  if (code !== 'RATE_LIMIT_EXCEEDED') return new CodedError(code, REFUSALS[code])
  // Not from the reset's second, which is rounded up already: nearly every wait would be told as two seconds.
  const waitSec = Math.max(1, Math.ceil(rateLimit.waitMs / 1000))
  return new HttpError(code, REFUSALS[code], { headers: { 'retry-after': String(waitSec) } })
}

/** 402, before the work or at the charge, which must not tell the price: that says what a wallet holds. */
export function tooPoor(detail: string): CodedError {
  return new CodedError('INSUFFICIENT_CREDITS', `Cannot pay for this request: ${detail}`)
}

/** An organization has all the reads under way that it may have. */
export function crowded(): CodedError {
  return new CodedError('SERVICE_UNAVAILABLE', 'Cannot answer: too many requests of this organization are under way')
}
