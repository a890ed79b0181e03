import { send } from './api.js'

/**
 * Asks a plane that takes no keys: the browser sends the session's cookie by itself.
 * @param {string} path
 * @param {{ method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', body?: unknown, signal?: AbortSignal }} [options]
 */
export function act(path, { method = 'GET', body, signal } = {}) {
  return send(path, {
    method,
    credentials: 'same-origin',
    ...(signal && { signal }),
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
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
