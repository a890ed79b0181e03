import type { ErrorCode } from '../../lib/error.ts'
import { getFieldSchemas } from '../route/json_schema.ts'
import type { Route } from '../route/route.ts'

/**
 * Returns the codes of each status, ascending: exactly the failures that a route can answer. Excludes 405 (answered by
 * the router) and 431 (answered by the runtime without a body): generated clients would otherwise treat the body of
 * every failure as optional.
 */
export function getErrorCodes(route: Route): ReadonlyMap<number, readonly ErrorCode[]> {
  const fields = [...getFieldSchemas(route.input), ...getFieldSchemas(route.body)]
  const errors = route.errors ?? []
  const mayMiss = fields.some(({ required }) => required) || errors.includes('MISSING_PARAMETER')
  const mayLackChain = route.asOf !== false || errors.includes('API_ENDPOINT_NOT_CONFIGURED')
  const codes: readonly (readonly [status: number, codes: readonly ErrorCode[]])[] = [
    // A route without parameters also refuses unknown parameters and a malformed Idempotency-Key.
    [400, ['INVALID_REQUEST', 'INVALID_PARAMETER', ...codesIf('MISSING_PARAMETER', mayMiss)]],
    [401, ['INVALID_API_KEY']],
    [402, ['INSUFFICIENT_CREDITS']],
    [403, ['ACCOUNT_SUSPENDED', 'ENDPOINT_DISABLED', ...codesIf('FEATURE_DISABLED', route.feature !== undefined)]],
    [404, [...codesIf('NOT_FOUND', errors.includes(404)), 'ORGANIZATION_NOT_FOUND']],
    // Every route accepts an Idempotency-Key: 409 and 422 are its refusals.
    ...(route.body === undefined ? [409, 422] : [408, 409, 413, 415, 422]).map(
      (status) => [status, ['INVALID_REQUEST']] as const,
    ),
    [429, ['RATE_LIMIT_EXCEEDED']],
    [500, [...codesIf('API_ENDPOINT_NOT_CONFIGURED', mayLackChain), 'INTERNAL_ERROR']],
    ...(errors.includes(502) ? [[502, ['UPSTREAM_ERROR']] as const] : []),
    [503, ['SERVICE_UNAVAILABLE']],
    ...(errors.includes(504) ? [[504, ['GATEWAY_TIMEOUT']] as const] : []),
  ]
  return new Map(codes)
}

function codesIf(code: ErrorCode, applies: boolean): readonly ErrorCode[] {
  return applies ? [code] : []
}
