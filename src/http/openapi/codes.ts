import type { ErrorCode } from '../../lib/error.ts'
import type { Route } from '../route.ts'
import { fieldsOf } from './json_schema.ts'

/** Codes of each status, ascending. 431 has none: the runtime answers it by itself, without a body. */
export type Codes = ReadonlyMap<number, readonly ErrorCode[]>

/** Exactly the failures that a route can answer, whoever asks. Another method is not the route's to refuse. */
export function codesOf(route: Route): Codes {
  const needs = [...fieldsOf(route.input), ...(route.body === undefined ? [] : fieldsOf(route.body))]
  const takesAny = needs.length > 0
  const readsChain = route.asOf !== false
  const errors = route.errors ?? []
  const mayMiss = needs.some(({ required }) => required) || errors.includes('MISSING_PARAMETER')
  const codes: readonly (readonly [status: number, codes: readonly ErrorCode[]])[] = [
    [400, ['INVALID_REQUEST', ...given('INVALID_PARAMETER', takesAny), ...given('MISSING_PARAMETER', mayMiss)]],
    [401, ['INVALID_API_KEY']],
    [402, ['INSUFFICIENT_CREDITS']],
    [403, ['ACCOUNT_SUSPENDED', 'ENDPOINT_DISABLED', ...given('FEATURE_DISABLED', route.feature !== undefined)]],
    [404, [...given('NOT_FOUND', errors.includes(404)), 'ORGANIZATION_NOT_FOUND']],
    ...(route.body === undefined ? [] : BODY_CODES),
    [429, ['RATE_LIMIT_EXCEEDED']],
    [431, []],
    [500, [...given('API_ENDPOINT_NOT_CONFIGURED', readsChain), 'INTERNAL_ERROR']],
    ...(errors.includes(502) ? [[502, ['UPSTREAM_ERROR']] as const] : []),
    [503, ['SERVICE_UNAVAILABLE']],
    ...(errors.includes(504) ? [[504, ['GATEWAY_TIMEOUT']] as const] : []),
  ]
  return new Map(codes)
}

/** Failures of a route that reads a body. */
const BODY_CODES: readonly (readonly [status: number, codes: readonly ErrorCode[]])[] = [
  [408, ['INVALID_REQUEST']],
  [413, ['INVALID_REQUEST']],
  [415, ['INVALID_REQUEST']],
]

function given(code: ErrorCode, applies: boolean): readonly ErrorCode[] {
  return applies ? [code] : []
}
