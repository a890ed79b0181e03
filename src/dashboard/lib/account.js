import { send } from './api.js'
import { clearSession, getSessionSecret } from './session.js'

/**
 * Asks a plane that takes no keys: the browser sends the session's cookie by itself, and the page what its tab keeps.
 * @template [Body=unknown]
 * @param {string} path
 * @param {{ method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', body?: unknown, signal?: AbortSignal }} [options]
 * @returns {Promise<import('./api.js').Answer<Body> | import('./api.js').Failure>}
 */
export function requestPlane(path, { method = 'GET', body, signal } = {}) {
  const secret = getSessionSecret()
  return send(path, {
    method,
    credentials: 'same-origin',
    headers: {
      ...(secret !== undefined && { 'x-session-page': secret }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

/**
 * Ends the session of this tab.
 * @param {string} base of the plane
 */
export async function signOut(base) {
  const answer = await requestPlane(`${base}/session`, { method: 'DELETE' })
  // A session that could not be ended is still shown.
  if (answer.ok || answer.status === 401) clearSession()
}

/**
 * Path with a query of what is not empty.
 * @param {string} path
 * @param {Record<string, string | number | undefined>} query
 */
export function withQuery(path, query) {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(kept.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}
