import { createRateLimiter } from './rate_limiter.js'
import { delay } from './time.js'

/**
 * @typedef {{ chainId: number, block: string }} AsOf
 */

/**
 * @template [Body=unknown]
 * @typedef {object} Answer
 * @property {true} ok
 * @property {string} path requested path and query
 * @property {Body} body type by operation, see `shapes.d.ts`
 * @property {readonly AsOf[]} asOf blocks of the answer
 * @property {number | undefined} credits charged credits
 * @property {string | undefined} since first day of an incomplete daily series
 * @property {number} ms duration measured by the page
 * @property {number} atSec Unix seconds when the service answered, by its clock: the reader's may be wrong
 */

/**
 * @typedef {object} Failure
 * @property {false} ok
 * @property {string} path
 * @property {number} status 0 without an answer
 * @property {string} code
 * @property {string} message
 * @property {string | undefined} requestId
 * @property {number | undefined} retryAfterSec
 * @property {Progress} [progress] progress of a pending answer
 */

/**
 * Progress of a pending answer: percent, and the remaining work if known.
 * @typedef {{ percent: number, left?: { count: number, unit: string } }} Progress
 */

const ATTEMPTS_MAX = 6
const ANSWER_LIMIT_MS = 60_000
const WAIT_MAX_SEC = 30

const limiter = createRateLimiter()
/**
 * @typedef {{ charged: number, remaining: string }} Charge
 * @type {Set<(charge: Charge) => void>}
 */
const chargeListeners = new Set()

/**
 * Calls `listener` with the charge of each answer and the remaining credits. Returns a function that removes the listener.
 * @param {(charge: Charge) => void} listener
 */
export function onCharge(listener) {
  chargeListeners.add(listener)
  return () => void chargeListeners.delete(listener)
}

/**
 * Sends a request to a route under `/v1` like any client, and retries it after 429. Rejects only when `signal` fires.
 * @template [Body=unknown]
 * @param {string} path path and query, without a leading slash
 * @param {{ key: string, signal?: AbortSignal, method?: 'GET' | import('./submission.js').ChangeRequest['method'], body?: unknown, idempotencyKey?: string }} options
 * @returns {Promise<Answer<Body> | Failure>}
 */
export async function requestApi(path, { key, signal, method = 'GET', body, idempotencyKey }) {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
  const init = { method, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) }
  for (let attempts = 1; ; attempts++) {
    /** @type {Answer<Body> | Failure} */
    const answer = await limiter.run(() => send(path, init), signal)
    if (answer.ok || answer.status !== 429 || attempts === ATTEMPTS_MAX) return answer
    await delay(Math.min(answer.retryAfterSec ?? 1, WAIT_MAX_SEC) * 1000, signal)
  }
}

/**
 * Sends a request as `requestApi` does; undefined if `signal` fires first, so that nothing is saved for a part that has left.
 * @template [Body=unknown]
 * @param {string} path
 * @param {Parameters<typeof requestApi>[1] & { signal: AbortSignal }} options
 * @returns {Promise<Answer<Body> | Failure | undefined>}
 */
export async function requestUnlessGone(path, options) {
  try {
    /** @type {Answer<Body> | Failure} */
    const answer = await requestApi(path, options)
    return options.signal.aborted ? undefined : answer
  } catch (error) {
    if (options.signal.aborted) return undefined
    throw error
  }
}

/**
 * Sends one request to this service. Rejects only when `init.signal` fires.
 * @template [Body=unknown]
 * @param {string} path
 * @param {RequestInit} [init]
 * @returns {Promise<Answer<Body> | Failure>}
 */
export async function send(path, init = {}) {
  const startedMs = performance.now()
  const limit = AbortSignal.timeout(ANSWER_LIMIT_MS)
  const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit
  try {
    const response = await fetch(path, { cache: 'no-store', ...init, signal, referrerPolicy: 'no-referrer' })
    const text = await response.text()
    const { headers } = response
    limiter.setLimit(Number(headers.get('x-ratelimit-limit')))
    const credits = headers.get('x-credits-charged')
    const remaining = headers.get('x-credits-remaining')
    if (remaining !== null) for (const listener of chargeListeners) listener({ charged: Number(credits), remaining })
    if (!response.ok) return toFailure(path, response, text)
    return {
      ok: true,
      path,
      body: parseBody(text, headers.get('content-type') ?? ''),
      asOf: parseBlocks(headers.get('x-as-of')),
      since: headers.get('x-snapshots-from') ?? undefined,
      credits: credits === null ? undefined : Number(credits),
      ms: Math.round(performance.now() - startedMs),
      atSec: parseDate(headers.get('date')),
    }
  } catch (error) {
    init.signal?.throwIfAborted()
    const { message: reason } = /** @type {Error} */ (error)
    const message = limit.aborted ? 'No answer came within a minute.' : `The service cannot be reached (${reason}).`
    return { ok: false, path, status: 0, code: 'NO_ANSWER', message, requestId: undefined, retryAfterSec: undefined }
  }
}

/** Parses JSON; returns CSV as text. @param {string} text @param {string} type */
function parseBody(text, type) {
  if (text === '') return undefined
  return type.startsWith('text/csv') ? text : JSON.parse(text, isolateSymbol)
}

const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u

/**
 * Isolates a token's symbol that is written from right to left, because it would turn the text around it.
 * @param {string} name of the field
 * @param {unknown} value
 */
export function isolateSymbol(name, value) {
  const isTurning = typeof value === 'string' && /symbol$/i.test(name) && RIGHT_TO_LEFT.test(value)
  return isTurning ? `\u2068${value}\u2069` : value
}

/**
 * @param {string} path
 * @param {Response} response
 * @param {string} text
 * @returns {Failure}
 */
function toFailure(path, { status, headers }, text) {
  const wait = headers.get('retry-after')
  /** @type {{ code?: string, message?: string, request_id?: string }} */
  let error = {}
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

/**
 * Parses `percent=37, left=1234, unit=blocks`.
 * @param {string | null} text
 * @returns {{ progress?: Progress }}
 */
function parseProgress(text) {
  const [, percent, count, unit] = /^percent=(\d+)(?:, left=(\d+), unit=(\w+))?$/.exec(text ?? '') ?? []
  if (percent === undefined) return {}
  return { progress: { percent: Number(percent), ...(count && { left: { count: Number(count), unit } }) } }
}

/**
 * Parses a `Date` header to Unix seconds. Without one, as behind some proxies, the reader's clock at this moment stands in.
 * @param {string | null} text
 */
export function parseDate(text) {
  const ms = Date.parse(text ?? '')
  return Math.floor((Number.isNaN(ms) ? Date.now() : ms) / 1000)
}

/**
 * Parses `1:21000000,10:130000000`.
 * @param {string | null} text
 * @returns {AsOf[]}
 */
function parseBlocks(text) {
  if (text === null || text === '') return []
  return text.split(',').map((pair) => {
    const [chainId = '', block = ''] = pair.split(':')
    return { chainId: Number(chainId), block }
  })
}
