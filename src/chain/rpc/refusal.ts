/** No refusal is longer, and of its words no more are looked at. */
const REFUSAL_CHARS_MAX = 20_000
const REFUSAL_WORDS_MAX = 500
/** A longer `Retry-After` is cut to this. */
const RETRY_AFTER_MS_MAX = 60_000

/** The `error` member of a JSON-RPC answer. */
export interface RpcErrorObject {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** An endpoint's refusal of one request. */
export interface Refusal {
  readonly status: number
  /** Of JSON-RPC; 0 if the body is something else. */
  readonly code: number
  /** The endpoint's own words, shortened, never to be repeated: they may quote its address with a key in it. */
  readonly words: string
  /** The pause that it asks for, milliseconds. */
  readonly retryAfterMs: number | undefined
}

/** Undefined if the endpoint did what was asked, or if its answer is too long to be a refusal. */
export function parseRefusal(response: Response, text: string): Refusal | undefined {
  if (text.length > REFUSAL_CHARS_MAX || (response.ok && !text.includes('"error"'))) return undefined
  const error = getRpcError(parseObject(text) ?? {})
  if (response.ok && error === undefined) return undefined
  const said = error === undefined ? text : `${error.message} ${wordsOf(error.data)}`
  return {
    status: response.status,
    code: error?.code ?? 0,
    words: said.slice(0, REFUSAL_WORDS_MAX),
    retryAfterMs: retryAfterMs(response),
  }
}

function wordsOf(data: unknown): string {
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '')
}

/** The JSON object that a body is; undefined if it is none. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' && body !== null && !Array.isArray(body)
      ? (body as Record<string, unknown>)
      : undefined
  } catch {
    // The caller reports a body that does not parse, with the status.
    return undefined
  }
}

/** The `error` member of a JSON-RPC answer; undefined if it has none. */
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

/** `Retry-After` in milliseconds; only the form in seconds, since a date needs clocks to agree. */
export function retryAfterMs(response: Response): number | undefined {
  const value = response.headers.get('retry-after') ?? ''
  return /^\d{1,6}$/.test(value) ? Math.min(Number(value) * 1_000, RETRY_AFTER_MS_MAX) : undefined
}
