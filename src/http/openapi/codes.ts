import type { ErrorCode } from '../../lib/error.ts'
import { getFieldSchemas } from '../route/json_schema.ts'
import type { Route } from '../route/route.ts'

/**
 * Codes of each status, ascending: exactly the failures that a route can answer, whoever asks. Another method is not the
 * route's to refuse, and 431 the runtime answers by itself, without a body: clients that are made from the document would
 * have to doubt the body of every other failure.
 */
export function getErrorCodes(route: Route): ReadonlyMap<number, readonly ErrorCode[]> {
  const needs = [...getFieldSchemas(route.input), ...getFieldSchemas(route.body)]
  const errors = route.errors ?? []
  const mayMiss = needs.some(({ required }) => required) || errors.includes('MISSING_PARAMETER')
  const mayLackChain = route.asOf !== false || errors.includes('API_ENDPOINT_NOT_CONFIGURED')
  const codes: readonly (readonly [status: number, codes: readonly ErrorCode[]])[] = [
    // A route without parameters refuses unknown ones, and a wrong Idempotency-Key, too.
    [400, ['INVALID_REQUEST', 'INVALID_PARAMETER', ...given('MISSING_PARAMETER', mayMiss)]],
    [401, ['INVALID_API_KEY']],
    [402, ['INSUFFICIENT_CREDITS']],
    [403, ['ACCOUNT_SUSPENDED', 'ENDPOINT_DISABLED', ...given('FEATURE_DISABLED', route.feature !== undefined)]],
    [404, [...given('NOT_FOUND', errors.includes(404)), 'ORGANIZATION_NOT_FOUND']],
    ...(route.body === undefined ? [] : [408, 413, 415].map((status) => [status, ['INVALID_REQUEST']] as const)),
    [429, ['RATE_LIMIT_EXCEEDED']],
    [500, [...given('API_ENDPOINT_NOT_CONFIGURED', mayLackChain), 'INTERNAL_ERROR']],
    ...(errors.includes(502) ? [[502, ['UPSTREAM_ERROR']] as const] : []),
    [503, ['SERVICE_UNAVAILABLE']],
    ...(errors.includes(504) ? [[504, ['GATEWAY_TIMEOUT']] as const] : []),
  ]
  return new Map(codes)
}

function given(code: ErrorCode, applies: boolean): readonly ErrorCode[] {
  return applies ? [code] : []
}
