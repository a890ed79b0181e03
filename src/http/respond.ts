import { compressBody, isCompressible } from './encoding.ts'
import type { HttpFailure } from './error.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/** An answer that is ready to be sent once it is paid for. */
export interface PreparedAnswer {
  readonly status: number
  /** Finished text; null only for 204 and 304. */
  readonly body: string | null
  /** The same text in the encoding that the headers name, sent in its place. */
  readonly packed?: Uint8Array<ArrayBuffer>
  /** What it costs; 0 unless the status is 2xx. */
  readonly credits: number
  readonly headers: Readonly<Record<string, string>>
}

/** A success that costs nothing. */
export function successAnswer(body: string, headers: PreparedAnswer['headers'] = {}): PreparedAnswer {
  return { status: 200, body, credits: 0, headers }
}

/** State of the organization's one-second window after this request. */
export interface RateLimit {
  readonly limit: number
  readonly remaining: number
  /** Unix second at which the oldest slot frees. */
  readonly resetSec: number
  /** Milliseconds from the admission until then, not rounded to seconds: what a refused caller has to wait. */
  readonly waitMs: number
}

/** State of the caller's organization, sent with every answer to a recognised key. */
export interface AccountState {
  readonly rateLimit: RateLimit
  readonly creditsCharged: number
  readonly creditsRemaining: bigint
}

/** An error as an answer: `{ error: { code, message, request_id } }`. */
export function failureAnswer(error: HttpFailure, requestId: string): PreparedAnswer {
  const { code, message, status } = error
  const headers = status === 503 ? { 'retry-after': '1', ...error.headers } : error.headers
  return { status, body: JSON.stringify({ error: { code, message, request_id: requestId } }), credits: 0, headers }
}

/**
 * The answer as the adapter sends it, made from one string and all headers at once: a `Response` made from another one,
 * or `Response.json`, loses its type or length on one of the runtimes.
 */
export function respond(
  outcome: PreparedAnswer,
  options: {
    readonly requestId: string
    readonly account?: AccountState | undefined
    /** Of the request; looked into only if the body is long. */
    readonly sent: Headers
    readonly cors?: Readonly<Record<string, string>> | undefined
    /** True if the connection must end with the answer. */
    readonly close: boolean
  },
): Response {
  const { account, cors } = options
  const headers = usualHeaders(options.requestId, account)
  if (outcome.body === null) delete headers['content-type']
  if (options.close) headers['connection'] = 'close'
  Object.assign(headers, outcome.headers, cors)
  const { body } = outcome
  const isEncoded = outcome.packed !== undefined
  const varies = !isEncoded && body !== null && isCompressible(body)
  const vary = outcome.headers['vary'] ?? (varies ? 'accept-encoding' : undefined)
  if (vary !== undefined) headers['vary'] = cors?.['vary'] === undefined ? vary : `${vary}, ${cors['vary']}`
  const made = varies ? compressBody(body, options.sent.get('accept-encoding')) : undefined
  if (made !== undefined) headers['content-encoding'] = made.encoding
  return new Response(outcome.packed ?? made?.bytes ?? body, { status: outcome.status, headers })
}

/** As literals: headers that are added one by one take twice as long. */
function usualHeaders(requestId: string, account: AccountState | undefined): Record<string, string> {
  if (account === undefined) {
    return {
      'content-type': JSON_TYPE,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': requestId,
    }
  }
  const { rateLimit, creditsCharged, creditsRemaining } = account
  return {
    'content-type': JSON_TYPE,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-request-id': requestId,
    'x-ratelimit-limit': String(rateLimit.limit),
    'x-ratelimit-remaining': String(rateLimit.remaining),
    'x-ratelimit-reset': String(rateLimit.resetSec),
    'x-credits-charged': String(creditsCharged),
    'x-credits-remaining': String(creditsRemaining),
  }
}
