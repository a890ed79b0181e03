import { AbortedError, UnavailableError, UpstreamError } from '../lib/error.ts'

/** Status of every error code. `INVALID_REQUEST` is given its 4xx by whoever throws it. */
export const STATUS_BY_CODE = {
  MISSING_PARAMETER: 400,
  INVALID_PARAMETER: 400,
  INVALID_REQUEST: 400,
  INVALID_API_KEY: 401,
  INSUFFICIENT_CREDITS: 402,
  ACCOUNT_SUSPENDED: 403,
  ENDPOINT_DISABLED: 403,
  FEATURE_DISABLED: 403,
  NOT_FOUND: 404,
  ORGANIZATION_NOT_FOUND: 404,
  RATE_LIMIT_EXCEEDED: 429,
  INTERNAL_ERROR: 500,
  API_ENDPOINT_NOT_CONFIGURED: 500,
  UPSTREAM_ERROR: 502,
  SERVICE_UNAVAILABLE: 503,
  GATEWAY_TIMEOUT: 504,
} as const

/** Machine-readable code of an error answer. */
export type ErrorCode = keyof typeof STATUS_BY_CODE

/** A failure that the caller is told about: a code from the table and a sentence that helps to mend it. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(
    code: ErrorCode,
    message: string,
    options: {
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
      readonly cause?: unknown
    } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.status = options.status ?? STATUS_BY_CODE[code]
    this.headers = options.headers ?? {}
  }
}

/**
 * What the caller may see of any thrown value: errors of lower layers by class, everything else a generic 500. An
 * unusable upstream answer is 502 where `badGateway` says that the route lists it, else 503.
 */
export function apiErrorFrom(error: unknown, options: { readonly badGateway: boolean }): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof UnavailableError) {
    return new ApiError('SERVICE_UNAVAILABLE', error.message, {
      headers: { 'retry-after': String(error.retryAfterSec) },
      cause: error,
    })
  }
  if (error instanceof UpstreamError) {
    return new ApiError(options.badGateway ? 'UPSTREAM_ERROR' : 'SERVICE_UNAVAILABLE', error.message, { cause: error })
  }
  // The caller's own leaving is not answered at all, so this one was somebody else's.
  if (error instanceof AbortedError) return new ApiError('SERVICE_UNAVAILABLE', 'Cannot answer now', { cause: error })
  return new ApiError('INTERNAL_ERROR', 'Cannot answer because of an internal error', { cause: error })
}
