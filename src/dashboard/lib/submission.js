/**
 * A request that changes something.
 * @typedef {{ path: string, method: 'POST' | 'PUT' | 'PATCH' | 'DELETE', body?: unknown }} ChangeRequest
 * @typedef {import('./api.js').Answer | import('./api.js').Failure} Outcome
 */

const KEY_BYTES = 16

/**
 * Creates the sender of one form. Requests with the same content go out one at a time, and with one idempotency key until it
 * is known that the change was made: the service makes the change of a filled form once, even if its answer was lost.
 * @param {() => string} [createKey]
 */
export function createSubmission(createKey = createRandomKey) {
  /** @type {Map<string, string>} */
  const keys = new Map()
  const underWay = new Set()
  /**
   * Sends a request; returns undefined, and sends nothing, while the same one is under way.
   * @param {ChangeRequest} request
   * @param {(idempotencyKey: string) => Promise<Outcome>} send
   * @returns {Promise<Outcome | undefined>}
   */
  return async (request, send) => {
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

/**
 * Says what is known of a change that failed: undefined if it was not made.
 * @param {import('./api.js').Failure} failure
 * @returns {{ title: string, advice: string } | undefined}
 */
export function describeUncertainty(failure) {
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

/** A refusal for a key under way says when to ask again; one for a finished key does not. @param {import('./api.js').Failure} failure */
function wasDoneBefore({ status, retryAfterSec }) {
  return status === 409 && retryAfterSec === undefined
}

/** `crypto.randomUUID` is undefined on a page over plain HTTP from another machine. */
function createRandomKey() {
  return [...crypto.getRandomValues(new Uint8Array(KEY_BYTES))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
}
