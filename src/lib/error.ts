/** A dependency (database, chain) could not answer within its budget; asking again later may work. Becomes 503. */
export class UnavailableError extends Error {
  override readonly name = 'UnavailableError'
  readonly retryAfterSec: number

  constructor(message: string, options: { readonly cause?: unknown; readonly retryAfterSec?: number } = {}) {
    super(message, { cause: options.cause })
    this.retryAfterSec = options.retryAfterSec ?? 1
  }
}

/** A dependency answered, and the answer is unusable. Becomes 502 on the routes that list it, else 503. */
export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
}

/** The caller went away before the work was done: nothing is charged, and the log says 499. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError'
}
