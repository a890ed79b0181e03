import { isJsonObject } from '../../lib/text/json.ts'

/** Upper bound of a refusal's body, and of the part of its message that is read, characters. */
const REFUSAL_CHARS_MAX = 20_000
const REFUSAL_WORDS_MAX = 500
/** Upper bound of `Retry-After`. */
const RETRY_AFTER_MS_MAX = 60_000

/** The `error` member of a JSON-RPC answer. */
export interface RpcErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** The part of an HTTP answer that says whether it refuses. */
export interface HttpAnswerHead extends Pick<Response, 'ok' | 'status'> {
  readonly headers: Pick<Headers, 'get'>
}

/** An endpoint's refusal of one request. */
export interface Refusal {
  readonly status: number
  /** JSON-RPC error code; 0 if the body is not a JSON-RPC error. */
  readonly code: number
  /** The endpoint's message, shortened. Never repeat it: it may quote a URL with a key in it. */
  readonly words: string
  /** The requested pause, milliseconds. */
  readonly retryAfterMs: number | undefined
}

/** Parses a refusal; undefined if the endpoint gave a result, or if its answer is too long to be a refusal. */
export function parseRefusal(response: HttpAnswerHead, text: string): Refusal | undefined {
  if (text.length > REFUSAL_CHARS_MAX || (response.ok && !text.includes('"error"'))) return undefined
  const error = getRpcError(parseObject(text) ?? {})
  if (response.ok && error === undefined) return undefined
  const message = error === undefined ? text : `${error.message} ${toText(error.data)}`
  return {
    status: response.status,
    code: error?.code ?? 0,
    words: message.slice(0, REFUSAL_WORDS_MAX),
    retryAfterMs: parseRetryAfterMs(response),
  }
}

function toText(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
}

/** Parses a JSON object; undefined for anything else. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) ? body : undefined
  } catch {
    // The caller reports a body that does not parse, with the status.
    return undefined
  }
}

/** Returns the `error` member of a JSON-RPC answer; undefined without one. */
export function getRpcError(body: Record<string, unknown>): RpcErrorObject | undefined {
  const error = body['error']
  if (error === undefined || error === null) return undefined
  const { code, message, data } = typeof error === 'object' ? (error as Partial<RpcErrorObject>) : {}
  return {
    code: Number.isSafeInteger(code) ? Number(code) : 0,
    message: typeof message === 'string' ? message.slice(0, 500) : '',
    data,
  }
}

/**
 * Parses `Retry-After` to milliseconds. Only the form in seconds is supported: a date would need synchronous clocks.
 */
export function parseRetryAfterMs(response: Pick<HttpAnswerHead, 'headers'>): number | undefined {
  const value = response.headers.get('retry-after') ?? ''
  return /^\d{1,6}$/.test(value) ? Math.min(Number(value) * 1_000, RETRY_AFTER_MS_MAX) : undefined
}
