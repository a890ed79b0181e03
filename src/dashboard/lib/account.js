import { send } from './api.js'
import { clearSession, getSessionSecret } from './session.js'

/** @type {Set<() => void>} */
const endListeners = new Set()

/**
 * Calls `listener` when a plane refuses the session of this tab. Returns a function that removes the listener.
 * @param {() => void} listener
 */
export function onSessionEnd(listener) {
  endListeners.add(listener)
  return () => void endListeners.delete(listener)
}

/**
 * Sends a request to a plane with sessions: the browser adds the session cookie, this function the secret stored in the tab.
 * @template [Body=unknown]
 * @param {string} path
 * @param {{ method?: 'GET' | import('./submission.js').ChangeRequest['method'], body?: unknown, idempotencyKey?: string, signal?: AbortSignal }} [options]
 * @returns {Promise<import('./api.js').Answer<Body> | import('./api.js').Failure>}
 */
export async function requestPlane(path, { method = 'GET', body, idempotencyKey, signal } = {}) {
  const secret = getSessionSecret()
  /** @type {import('./api.js').Answer<Body> | import('./api.js').Failure} */
  const answer = await send(path, {
    method,
    credentials: 'same-origin',
    headers: {
      ...(secret !== undefined && { 'x-session-page': secret }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  if (!answer.ok && answer.status === 401) for (const listener of endListeners) listener()
  return answer
}

/**
 * Ends the session of this tab.
 * @param {string} base path of the plane
 */
export async function signOut(base) {
  const answer = await requestPlane(`${base}/session`, { method: 'DELETE' })
  // Keep showing a session that could not be ended.
  if (answer.ok || answer.status === 401) clearSession()
}

/**
 * Adds a query of the non-empty values to a path.
 * @param {string} path
 * @param {Record<string, string | number | undefined>} query
 */
export function withQuery(path, query) {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}
