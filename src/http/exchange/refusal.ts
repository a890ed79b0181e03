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
 * The one place where a failure becomes an answer. One that is ours has a line in the log, or is counted by one if it
 * comes often.
 */
export function toFailureAnswer(
  error: unknown,
  options: { readonly requestId: string; readonly route: string; readonly badGateway: boolean; readonly log: Log },
): PreparedAnswer {
  const { requestId, route, badGateway, log } = options
  const shown = toHttpFailure(error, { badGateway })
  if (shown.code === 'INTERNAL_ERROR') log.error({ msg: 'Failed to answer a request', requestId, route, error })
  else if (shown.status >= 500 && !isAlreadyLogged(error)) {
    const fields = { msg: 'Could not answer a request', requestId, route, error: shown.message }
    logThrottled(log, { level: 'warn', kind: `${route} ${shown.code}` }, fields)
  }
  return failureAnswer(shown, requestId)
}

/** Answer to OPTIONS. Throws NOT_FOUND for an unknown path, INVALID_REQUEST with status 405 for another method. */
export function answerNonEndpoint(
  found: Exclude<RouteMatch<never>, { readonly kind: 'endpoint' }>,
  method: string,
): PreparedAnswer {
  if (found.kind === 'unknown') throw nowhere(found)
  if (method === 'OPTIONS') return { status: 204, body: null, credits: 0, headers: preflightHeaders(found.allow) }
  throw new HttpError('INVALID_REQUEST', `Cannot use this method here: expected ${found.allow}`, {
    status: 405,
    headers: { allow: found.allow },
  })
}

function nowhere({ near, all }: Extract<RouteMatch<never>, { readonly kind: 'unknown' }>): CodedError {
  const hints = [
    ...(near === undefined ? [] : [`the nearest is ${near}`]),
    ...(all === undefined ? [] : [`${all} has all`]),
  ]
  return new CodedError('NOT_FOUND', ['Cannot find this path', ...hints].join(', '))
}

/** The same message for every wrong key, and for none: it must not tell why. */
export function unknownKeyError(): HttpError {
  return new HttpError(
    'INVALID_API_KEY',
    'Cannot authenticate: expected a valid API key in the header "Authorization: Bearer <API key>"',
    {
      headers: { 'www-authenticate': 'Bearer' },
    },
  )
}

/** Error for a recognised key that the gate refused. */
export function toRefusalError({ code, rateLimit }: Extract<Admission, { readonly kind: 'refused' }>): CodedError {
  // Outside there is one code for both, and the message says which it is.
  if (code === 'KEY_ENDPOINT_DISABLED') return new CodedError('ENDPOINT_DISABLED', REFUSALS[code])
  if (code !== 'RATE_LIMIT_EXCEEDED') return new CodedError(code, REFUSALS[code])
  // Not from `resetSec`, which is rounded up already: nearly every wait would become two seconds.
  const waitSec = Math.max(1, Math.ceil(rateLimit.waitMs / 1000))
  return new HttpError(code, REFUSALS[code], { headers: { 'retry-after': String(waitSec) } })
}
