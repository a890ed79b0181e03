import type { Answer, Failure } from './api.ts'

/** A request that changes something. */
export interface ChangeRequest {
  readonly path: string
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly body?: unknown
}

export type Outcome = Answer | Failure

const KEY_BYTES = 16

/**
 * Creates the sender of one form. Requests with the same content go out one at a time, and with one idempotency key until it
 * is known that the change was made: the service makes the change of a filled form once, even if its answer was lost.
 */
export function createSubmission(createKey: () => string = createRandomKey) {
  const keys = new Map<string, string>()
  const underWay = new Set()
  /** Sends a request; returns undefined, and sends nothing, while the same one is under way. */
  return async (
    request: ChangeRequest,
    send: (idempotencyKey: string) => Promise<Outcome>,
  ): Promise<Outcome | undefined> => {
    const content = JSON.stringify(request)
    if (underWay.has(content)) return undefined
    underWay.add(content)
    const key = keys.get(content) ?? createKey()
    keys.set(content, key)
    try {
      const outcome = await send(key)
      if (outcome.ok || wasDoneBefore(outcome)) keys.delete(content)
      return outcome
    } finally {
      underWay.delete(content)
    }
  }
}

/** Says what is known of a change that failed: undefined if it was not made. */
export function describeUncertainty(failure: Failure): { title: string; advice: string } | undefined {
  if (wasDoneBefore(failure)) return { title: 'It was done before', advice: 'Reload the page to see it.' }
  // The first request has no outcome yet, or its outcome is unknown.
  if (failure.status === 409)
    return { title: MAY_BE_DONE, advice: 'Look whether it was done. A reloaded page sends it as a new request.' }
  if (failure.status === 0 || failure.code.startsWith('HTTP_5'))
    return { title: MAY_BE_DONE, advice: 'Look, or press again: an unchanged form is not carried out twice.' }
  if (failure.status >= 500) return { title: MAY_BE_DONE, advice: 'Look whether it was done before you press again.' }
  return undefined
}

const MAY_BE_DONE = 'It may have been done'

/** A refusal for a key under way says when to ask again; one for a finished key does not. */
function wasDoneBefore({ status, retryAfterSec }: Failure) {
  return status === 409 && retryAfterSec === undefined
}

/** `crypto.randomUUID` is undefined on a page over plain HTTP from another machine. */
function createRandomKey() {
  return [...crypto.getRandomValues(new Uint8Array(KEY_BYTES))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}
