import type { Answer, Failure } from './api.ts'
import { send } from './api.ts'
import { clearSession, getSessionSecret } from './session.ts'
import type { ChangeRequest } from './submission.ts'

const endListeners = new Set<() => void>()

/** Calls `listener` when a plane refuses the session of this tab. Returns a function that removes the listener. */
export function onSessionEnd(listener: () => void) {
  endListeners.add(listener)
  return () => void endListeners.delete(listener)
}

interface PlaneRequestOptions {
  readonly method?: 'GET' | ChangeRequest['method']
  readonly body?: unknown
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/**
 * Sends a request to a plane with sessions: the browser adds the session cookie, this function the secret stored in the tab.
 */
export async function requestPlane<Body = unknown>(
  path: string,
  { method = 'GET', body, idempotencyKey, signal }: PlaneRequestOptions = {},
): Promise<Answer<Body> | Failure> {
  const secret = getSessionSecret()
  const answer: Answer<Body> | Failure = await send(path, {
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

/** Ends the session of this tab. `base`: path of the plane. */
export async function signOut(base: string) {
  const answer = await requestPlane(`${base}/session`, { method: 'DELETE' })
  // Keep showing a session that could not be ended.
  if (answer.ok || answer.status === 401) clearSession()
}

/** Adds a query of the non-empty values to a path. */
export function withQuery(path: string, query: Record<string, string | number | undefined>) {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString()
  return text === '' ? path : `${path}?${text}`
}
