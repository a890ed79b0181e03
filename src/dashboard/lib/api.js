import { createRateLimiter } from './rate_limiter.js'
import { delay } from './time.js'

/**
 * @typedef {{ chainId: number, block: string }} AsOf
 */

/**
 * @template [Body=unknown]
 * @typedef {object} Answer
 * @property {true} ok
 * @property {string} path path and query that were asked
 * @property {Body} body as `shapes.d.ts` names it, by operation
 * @property {readonly AsOf[]} asOf blocks that were read
 * @property {number | undefined} credits what it cost
 * @property {string | undefined} since first day of a daily series that does not reach back to its beginning
 * @property {number} ms how long it took, as seen from here
 */

/**
 * @typedef {object} Failure
 * @property {false} ok
 * @property {string} path
 * @property {number} status 0 if no answer came
 * @property {string} code
 * @property {string} message
 * @property {string | undefined} requestId
 * @property {number | undefined} retryAfterSec
 * @property {Progress} [progress] of an answer that is being prepared
 */

/**
 * How far an answer is that is being prepared: percent, and how much is left if that is known.
 * @typedef {{ percent: number, left?: { count: number, unit: string } }} Progress
 */

const TRIES_MAX = 6
const ANSWER_LIMIT_MS = 60_000
const WAIT_MAX_SEC = 30

const pace = createRateLimiter()
/**
 * @typedef {{ charged: number, remaining: string }} Charge
 * @type {Set<(charge: Charge) => void>}
 */
const chargeListeners = new Set()

/**
 * Calls `listener` with what each answer cost and what is left; returns what ends it.
 * @param {(charge: Charge) => void} listener
 */
export function onCharge(listener) {
  chargeListeners.add(listener)
  return () => void chargeListeners.delete(listener)
}

/**
 * Asks a route under `/v1` like any client. Never rejects, except when `signal` fires.
 * @template [Body=unknown]
 * @param {string} path path and query, without a slash in front
 * @param {{ key: string, signal?: AbortSignal, method?: 'GET' | 'POST' | 'DELETE', body?: unknown }} options
 * @returns {Promise<Answer<Body> | Failure>}
 */
export async function requestApi(path, { key, signal, method = 'GET', body }) {
  const headers = { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) }
  const init = { method, headers, signal, ...(body !== undefined && { body: JSON.stringify(body) }) }
  for (let tries = 1; ; tries++) {
    /** @type {Answer<Body> | Failure} */
    const answer = await pace.run(() => send(path, init), signal)
    if (answer.ok || answer.status !== 429 || tries === TRIES_MAX) return answer
    await delay(Math.min(answer.retryAfterSec ?? 1, WAIT_MAX_SEC) * 1000, signal)
  }
}

/**
 * One request to this service.
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
    pace.learn(Number(headers.get('x-ratelimit-limit')))
    const credits = headers.get('x-credits-charged')
    const remaining = headers.get('x-credits-remaining')
    if (remaining !== null) for (const listener of chargeListeners) listener({ charged: Number(credits), remaining })
    if (!response.ok) return refused(path, response, text)
    return {
      ok: true,
      path,
      body: bodyOf(text, headers.get('content-type') ?? ''),
      asOf: blocksOf(headers.get('x-as-of')),
      since: headers.get('x-snapshots-from') ?? undefined,
      credits: credits === null ? undefined : Number(credits),
      ms: Math.round(performance.now() - startedMs),
    }
  } catch (error) {
    init.signal?.throwIfAborted()
    const { message: why } = /** @type {Error} */ (error)
    const message = limit.aborted ? 'No answer came within a minute.' : `The service cannot be reached (${why}).`
    return { ok: false, path, status: 0, code: 'NO_ANSWER', message, requestId: undefined, retryAfterSec: undefined }
  }
}

/** JSON as what it says, a table as its text. @param {string} text @param {string} type */
function bodyOf(text, type) {
  if (text === '') return undefined
  return type.startsWith('text/csv') ? text : JSON.parse(text)
}

/**
 * @param {string} path
 * @param {Response} response
 * @param {string} text
 * @returns {Failure}
 */
function refused(path, { status, headers }, text) {
  const wait = headers.get('retry-after')
  /** @type {{ code?: string, message?: string, request_id?: string }} */
  let error = {}
  try {
    error = JSON.parse(text).error ?? {}
  } catch {
    // Not from the service: a proxy in front of it, perhaps.
  }
  return {
    ok: false,
    path,
    status,
    code: error.code ?? `HTTP_${status}`,
    message: error.message ?? 'The answer is not one of this service: something stands between it and this page.',
    requestId: error.request_id,
    retryAfterSec: wait === null || Number.isNaN(Number(wait)) ? undefined : Number(wait),
    ...progressOf(headers.get('x-progress')),
  }
}

/**
 * `percent=37, left=1234, unit=blocks`
 * @param {string | null} text
 * @returns {{ progress?: Progress }}
 */
function progressOf(text) {
  const [, percent, count, unit] = /^percent=(\d+)(?:, left=(\d+), unit=(\w+))?$/.exec(text ?? '') ?? []
  if (percent === undefined) return {}
  return { progress: { percent: Number(percent), ...(count && { left: { count: Number(count), unit } }) } }
}

/**
 * `1:21000000,10:130000000`
 * @param {string | null} text
 * @returns {AsOf[]}
 */
function blocksOf(text) {
  if (text === null || text === '') return []
  return text.split(',').map((pair) => {
    const [chainId = '', block = ''] = pair.split(':')
    return { chainId: Number(chainId), block }
  })
}
