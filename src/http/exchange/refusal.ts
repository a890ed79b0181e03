import type { Clock } from '../../lib/clock.ts'
import { CodedError, isAlreadyLogged } from '../../lib/error.ts'
import { type Log, logThrottled } from '../../lib/log.ts'
import { HttpError, toHttpFailure } from '../error.ts'
import { preflightHeaders } from '../request/cors.ts'
import { failureAnswer, type PreparedAnswer } from '../respond.ts'
import type { RouteMatch } from '../route/route_table.ts'
import type { Admission, RefusalCode } from './gate.ts'

const REFUSALS: Readonly<Record<RefusalCode, string>> = {
  ORGANIZATION_NOT_FOUND: 'Cannot find the organization of this key',
  ACCOUNT_SUSPENDED: 'Cannot answer: the organization is suspended',
  ENDPOINT_DISABLED: 'Cannot answer: the operator has switched this endpoint off',
  KEY_ENDPOINT_DISABLED: 'Cannot answer: this key may not call this endpoint',
  FEATURE_DISABLED: 'Cannot answer: the operator has switched this feature off',
  RATE_LIMIT_EXCEEDED: 'Cannot answer: the organization has used up its requests of this second',
}

/**
 * Converts a failure to an answer; no other function does. A failure of the service is logged; a frequent one is logged
 * with its count.
 */
export function toFailureAnswer(
  error: unknown,
  options: {
    readonly requestId: string
    readonly route: string
    readonly badGateway: boolean
    readonly clock: Clock
    readonly log: Log
  },
): PreparedAnswer {
  const { requestId, route, badGateway, clock, log } = options
  const shown = toHttpFailure(error, { badGateway })
  if (shown.code === 'INTERNAL_ERROR') log.error({ msg: 'Failed to answer a request', requestId, route, error })
  else if (shown.status >= 500 && !isAlreadyLogged(error)) {
    const fields = { msg: 'Could not answer a request', requestId, route, error: shown.message }
    logThrottled(log, { level: 'warn', kind: `${route} ${shown.code}`, clock }, fields)
  }
  return failureAnswer(shown, requestId)
}

/** Answers OPTIONS. Throws NOT_FOUND for an unknown path, INVALID_REQUEST with status 405 for another method. */
export function answerNonEndpoint(
  match: Exclude<RouteMatch<never>, { readonly kind: 'endpoint' }>,
  method: string,
): PreparedAnswer {
  if (match.kind === 'unknown') throw notFoundError(match)
  if (method === 'OPTIONS') return { status: 204, body: null, credits: 0, headers: preflightHeaders(match.allow) }
  throw new HttpError('INVALID_REQUEST', `Cannot use this method here: expected ${match.allow}`, {
    status: 405,
    headers: { allow: match.allow },
  })
}

function notFoundError({ nearest, docsPath }: Extract<RouteMatch<never>, { readonly kind: 'unknown' }>): CodedError {
  const hints = [
    ...(nearest === undefined ? [] : [`the nearest is ${nearest}`]),
    ...(docsPath === undefined ? [] : [`${docsPath} lists all`]),
  ]
  return new CodedError('NOT_FOUND', ['Cannot find this path', ...hints].join(', '))
}

/** The same message for every invalid key, and for none: it must not reveal why. */
export function unknownKeyError(): HttpError {
  return new HttpError(
    'INVALID_API_KEY',
    'Cannot authenticate: expected a valid API key in the header "Authorization: Bearer <API key>"',
    {
      headers: { 'www-authenticate': 'Bearer' },
    },
  )
}

/** Creates the error for a recognized key that the gate refused. */
export function toRefusalError({ code, rateLimit }: Extract<Admission, { readonly kind: 'refused' }>): CodedError {
  // Both cases share one public code; the message distinguishes them.
  if (code === 'KEY_ENDPOINT_DISABLED') return new CodedError('ENDPOINT_DISABLED', REFUSALS[code])
  if (code !== 'RATE_LIMIT_EXCEEDED') return new CodedError(code, REFUSALS[code])
  // Not from `resetSec`, which is already rounded up: nearly every wait would become two seconds.
  const waitSec = Math.max(1, Math.ceil(rateLimit.waitMs / 1000))
  return new HttpError(code, REFUSALS[code], { headers: { 'retry-after': String(waitSec) } })
}
