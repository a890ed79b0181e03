import {
  AbortedError,
  CodedError,
  type ErrorCode,
  PendingError,
  type Progress,
  UnavailableError,
  UpstreamError,
} from '../lib/error.ts'

/** Status of every error code. `INVALID_REQUEST` stands for every 4xx without a code of its own. */
export const STATUS_BY_CODE: Readonly<Record<ErrorCode, number>> = {
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
}

/** A failure with headers for the answer, or with a status without a code of its own. */
export class HttpError extends CodedError {
  override readonly name = 'HttpError'
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
    super(code, message, options)
    this.status = options.status ?? STATUS_BY_CODE[code]
    this.headers = options.headers ?? {}
  }
}

/** The public part of a failure. */
export type HttpFailure = Pick<HttpError, 'status' | 'code' | 'message' | 'headers'>

/**
 * Converts any thrown value to its public part: a coded error as it is, any other value to a generic 500. An unusable
 * upstream answer is 502 if `badGateway`, that is, if the route lists 502, else 503.
 */
export function toHttpFailure(error: unknown, options: { readonly badGateway: boolean }): HttpFailure {
  if (error instanceof HttpError) return error
  if (error instanceof UnavailableError) {
    const progress = error instanceof PendingError ? { 'x-progress': formatProgress(error.progress) } : {}
    return toFailure(error.code, error.message, { 'retry-after': String(error.retryAfterSec), ...progress })
  }
  if (error instanceof UpstreamError && !options.badGateway) return toFailure('SERVICE_UNAVAILABLE', error.message)
  if (error instanceof CodedError) return toFailure(error.code, error.message, nameParameter(error))
  // The service ended the work; disconnected callers get no answer.
  if (error instanceof AbortedError) return toFailure('SERVICE_UNAVAILABLE', 'Cannot answer now')
  return toFailure('INTERNAL_ERROR', 'Cannot answer because of an internal error')
}

/** Every message about a parameter or a field begins with one of these words and its name. */
const PARAMETER = /^(?:Cannot read parameter|Unknown parameter|Unknown field|Parameter) "(\w+)/

/** Says in a header what a failure is about, for programs: the body has no field for it. */
function nameParameter({ message }: CodedError): Readonly<Record<string, string>> {
  const name = PARAMETER.exec(message)?.[1]
  return name === undefined ? {} : { 'x-error-param': name }
}

/** Formats `percent=37, left=1234, unit=blocks`, a dictionary of RFC 9651; the percentage alone if no more is known. */
function formatProgress({ percent, left }: Progress): string {
  return `percent=${percent}${left === undefined ? '' : `, left=${left.count}, unit=${left.unit}`}`
}

function toFailure(code: ErrorCode, message: string, headers: Readonly<Record<string, string>> = {}): HttpFailure {
  return { status: STATUS_BY_CODE[code], code, message, headers }
}
