import { keptAnswers } from './kept_answers.ts'
import { createRateLimiter } from './rate_limiter.ts'
import { getStoredKey } from './session.ts'
import type { ChangeRequest } from './submission.ts'
import { delay } from './time.ts'

interface AsOf {
  readonly chainId: number
  readonly block: string
}

export interface Answer<Body = unknown> {
  readonly ok: true
  /** Requested path and query. */
  readonly path: string
  /** Type by operation, see `shapes.ts`. */
  readonly body: Body
  /** Blocks of the answer. */
  readonly asOf: readonly AsOf[]
  /** Charged credits. */
  readonly credits: number | undefined
  /** First day of an incomplete daily series. */
  readonly since: string | undefined
  /** Duration measured by the page. */
  readonly ms: number
  /** Unix seconds when the service answered, by its clock: the reader's may be wrong. */
  readonly atSec: number
}

export interface Failure {
  readonly ok: false
  readonly path: string
  /** 0 without an answer. */
  readonly status: number
  readonly code: string
  readonly message: string
  readonly requestId: string | undefined
  readonly retryAfterSec: number | undefined
  /** Progress of a pending answer. */
  readonly progress?: Progress | undefined
}

/** Progress of a pending answer: percent, and the remaining work if known. */
export interface Progress {
  readonly percent: number
  readonly left?: { readonly count: number; readonly unit: string }
}

const ATTEMPTS_MAX = 6
const ANSWER_LIMIT_MS = 60_000
const WAIT_MAX_SEC = 30

const limiter = createRateLimiter()

interface Charge {
  readonly charged: number
  readonly remaining: string
}

const chargeListeners = new Set<(charge: Charge) => void>()

/**
 * Calls `listener` with the charge of each answer and the remaining credits. Returns a function that removes the listener.
 */
export function onCharge(listener: (charge: Charge) => void) {
  chargeListeners.add(listener)
  return () => void chargeListeners.delete(listener)
}

interface RequestOptions {
  readonly key: string
  readonly signal?: AbortSignal
  readonly method?: 'GET' | ChangeRequest['method']
  readonly body?: unknown
  readonly idempotencyKey?: string
  /** False for an answer that waits: it is not the same again. @default true */
  readonly keeps?: boolean
}

/**
 * Sends a request to a route under `/v1` like any client, and retries it after 429. Rejects only when `signal` fires.
 * `path`: path and query, without a leading slash.
 */
export async function requestApi<Body = unknown>(
  path: string,
  { key, signal, method = 'GET', body, idempotencyKey, keeps = true }: RequestOptions,
): Promise<Answer<Body> | Failure> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
  const init = { method, headers, ...(signal && { signal }), ...(body !== undefined && { body: JSON.stringify(body) }) }
  const keptKey = keeps && method === 'GET' ? key : undefined
  for (let attempts = 1; ; attempts++) {
    const answer = await limiter.run(() => send<Body>(path, init, { keptKey }), signal)
    if (answer.ok || answer.status !== 429 || attempts === ATTEMPTS_MAX) return answer
    await delay(Math.min(answer.retryAfterSec ?? 1, WAIT_MAX_SEC) * 1000, signal)
  }
}

/**
 * Sends a request as `requestApi` does; undefined if `signal` fires first, so that nothing is saved for a part that has
 * left.
 */
export async function requestUnlessGone<Body = unknown>(
  path: string,
  options: Parameters<typeof requestApi>[1] & { signal: AbortSignal },
): Promise<Answer<Body> | Failure | undefined> {
  try {
    const answer: Answer<Body> | Failure = await requestApi(path, options)
    return options.signal.aborted ? undefined : answer
  } catch (error) {
    if (options.signal.aborted) return undefined
    throw error
  }
}

/**
 * Sends one request to this service. Rejects only when `init.signal` fires. With `keptKey`, the key of the request, an
 * answer that this tab has is named to the service, which charges nothing if it would be the same.
 */
export async function send<Body = unknown>(
  path: string,
  init: RequestInit = {},
  { keptKey }: { readonly keptKey?: string | undefined } = {},
): Promise<Answer<Body> | Failure> {
  const startedMs = performance.now()
  // The key may be forgotten while its answer is on its way.
  const isKept = () => keptKey !== undefined && keptKey === getStoredKey()
  const limit = AbortSignal.timeout(ANSWER_LIMIT_MS)
  const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit
  try {
    const kept = isKept() ? keptAnswers.find(path) : undefined
    const sent = { ...(init.headers as Record<string, string>), ...(kept && { 'if-none-match': kept.tag }) }
    const fetched = { cache: 'no-store', ...init, headers: sent, signal, referrerPolicy: 'no-referrer' } as const
    const response = await fetch(path, fetched)
    const isSame = kept !== undefined && response.status === 304
    const { headers } = response
    const text = isSame ? kept.text : await response.text()
    const type = isSame ? kept.type : (headers.get('content-type') ?? '')
    limiter.setLimit(Number(headers.get('x-ratelimit-limit')))
    const credits = headers.get('x-credits-charged')
    const remaining = headers.get('x-credits-remaining')
    if (remaining !== null) for (const listener of chargeListeners) listener({ charged: Number(credits), remaining })
    if (!response.ok && !isSame) return toFailure(path, response, text)
    const tag = headers.get('etag')
    if (isKept() && tag !== null && !isSame) keptAnswers.keep(path, { tag, type, text })
    return {
      ok: true,
      path,
      body: parseBody(text, type),
      asOf: parseBlocks(headers.get('x-as-of')),
      since: headers.get('x-snapshots-from') ?? undefined,
      credits: credits === null ? undefined : Number(credits),
      ms: Math.round(performance.now() - startedMs),
      atSec: parseDate(headers.get('date')),
    }
  } catch (error) {
    init.signal?.throwIfAborted()
    const { message: reason } = error as Error
    const message = limit.aborted ? 'No answer came within a minute.' : `The service cannot be reached (${reason}).`
    return { ok: false, path, status: 0, code: 'NO_ANSWER', message, requestId: undefined, retryAfterSec: undefined }
  }
}

/** Parses JSON; returns CSV as text. */
function parseBody(text: string, type: string) {
  if (text === '') return undefined
  return type.startsWith('text/csv') ? text : JSON.parse(text, isolateSymbol)
}

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/**
 * Isolates a token's symbol that is written from right to left, because it would turn the text around it. `name` is
 * that of the field.
 */
export function isolateSymbol(name: string, value: unknown) {
  const isTurning = typeof value === 'string' && /symbol$/i.test(name) && RIGHT_TO_LEFT.test(value)
  return isTurning ? `\u2068${value}\u2069` : value
}

function toFailure(path: string, { status, headers }: Response, text: string): Failure {
  const wait = headers.get('retry-after')
  let error: { code?: string; message?: string; request_id?: string } = {}
  try {
    error = JSON.parse(text).error ?? {}
  } catch {
    // Not an answer of this service; probably of a proxy.
  }
  return {
    ok: false,
    path,
    status,
    code: error.code ?? `HTTP_${status}`,
    message: error.message ?? 'The answer is not one of this service: a proxy may have answered instead.',
    requestId: error.request_id,
    retryAfterSec: wait === null || Number.isNaN(Number(wait)) ? undefined : Number(wait),
    ...parseProgress(headers.get('x-progress')),
  }
}

/** Parses `percent=37, left=1234, unit=blocks`. */
function parseProgress(text: string | null): { progress?: Progress } {
  const [, percent, count, unit = ''] = /^percent=(\d+)(?:, left=(\d+), unit=(\w+))?$/.exec(text ?? '') ?? []
  if (percent === undefined) return {}
  return { progress: { percent: Number(percent), ...(count && { left: { count: Number(count), unit } }) } }
}

/**
 * Parses a `Date` header to Unix seconds. Without one, as behind some proxies, the reader's clock at this moment stands in.
 */
export function parseDate(text: string | null) {
  const ms = Date.parse(text ?? '')
  return Math.floor((Number.isNaN(ms) ? Date.now() : ms) / 1000)
}

/** Parses `1:21000000,10:130000000`. */
function parseBlocks(text: string | null): AsOf[] {
  if (text === null || text === '') return []
  return text.split(',').map((pair) => {
    const [chainId = '', block = ''] = pair.split(':')
    return { chainId: Number(chainId), block }
  })
}
