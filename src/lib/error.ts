/** Machine-readable codes of failures, in the order of the specification. */
export const ERROR_CODES = [
  'MISSING_PARAMETER',
  'INVALID_PARAMETER',
  'INVALID_REQUEST',
  'INVALID_API_KEY',
  'INSUFFICIENT_CREDITS',
  'ACCOUNT_SUSPENDED',
  'ENDPOINT_DISABLED',
  'FEATURE_DISABLED',
  'NOT_FOUND',
  'ORGANIZATION_NOT_FOUND',
  'RATE_LIMIT_EXCEEDED',
  'INTERNAL_ERROR',
  'API_ENDPOINT_NOT_CONFIGURED',
  'UPSTREAM_ERROR',
  'SERVICE_UNAVAILABLE',
  'GATEWAY_TIMEOUT',
] as const

/** Machine-readable code of a failure. */
export type ErrorCode = (typeof ERROR_CODES)[number]

/** An error shown to the caller: a code and a sentence that helps to fix it. */
export class CodedError extends Error {
  override readonly name: string = 'CodedError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.code = code
  }
}

/** A dependency (database, chain) could not answer in time; a retry may succeed. */
export class UnavailableError extends CodedError {
  override readonly name: string = 'UnavailableError'
  readonly retryAfterSec: number

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterSec?: number } = {}) {
    super('SERVICE_UNAVAILABLE', message, options)
    this.retryAfterSec = options.retryAfterSec ?? 1
  }
}

/** A dependency is unavailable; the first caller already logged it. */
export class AlreadyLoggedError extends UnavailableError {
  override readonly name = 'AlreadyLoggedError'
}

/** True if the error or one of its causes was logged already. */
export function isAlreadyLogged(error: unknown): boolean {
  return (
    error instanceof AlreadyLoggedError ||
    (error instanceof Error && error.cause !== undefined && isAlreadyLogged(error.cause))
  )
}

/** Progress of a read that continues in the background. */
export interface Progress {
  /** Integer, 0 to 100. */
  readonly percent: number
  /** The remaining work and its unit; absent while unknown. */
  readonly left?: { readonly count: number; readonly unit: 'blocks' | 'days' | 'ids' }
}

/** The requested data is still being read in the background: a retry will find more of it. */
export class PendingError extends UnavailableError {
  override readonly name = 'PendingError'
  readonly progress: Progress

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly retryAfterSec?: number; readonly progress?: Progress } = {},
  ) {
    super(message, options)
    this.progress = options.progress ?? { percent: 0 }
  }
}

/** A dependency returned an unusable answer. Routes that do not list UPSTREAM_ERROR answer SERVICE_UNAVAILABLE. */
export class UpstreamError extends CodedError {
  override readonly name: string = 'UpstreamError'

  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super('UPSTREAM_ERROR', message, options)
  }
}

/** Returns the system's code of an error, such as `ENOSPC`, because its message would quote paths. */
export function getErrnoCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
}

/** The caller disconnected before the work was done: nothing is charged, and the request is logged as 499. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError'
}
