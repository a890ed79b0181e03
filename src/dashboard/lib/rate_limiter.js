import { delay } from './time.js'

const WINDOW_MS = 1_050
/** Default limit of an organization; the first answer's headers give the real one. */
const LIMIT_FIRST = 5
/** Limit of browsers for connections to one host. */
const CONCURRENCY_MAX = 6

/**
 * Creates a limiter that runs requests in order, no faster than the organization's rate limit.
 */
export function createRateLimiter() {
  let limit = LIMIT_FIRST
  let running = 0
  /** @type {number[]} */
  let sent = []
  /** @type {Promise<void>} */
  let queue = Promise.resolve()
  /** @type {(() => void)[]} */
  let waiting = []

  /** @param {AbortSignal | undefined} signal */
  async function waitForSlot(signal) {
    while (true) {
      signal?.throwIfAborted()
      const now = performance.now()
      sent = sent.filter((at) => now - at < WINDOW_MS)
      if (running >= CONCURRENCY_MAX) await new Promise((resolve) => waiting.push(() => resolve(undefined)))
      else if (sent.length >= limit) await delay(WINDOW_MS - (now - sent[0]), signal)
      else break
    }
    sent.push(performance.now())
    running++
  }

  return {
    /** @param {number} perSecond limit from the answers' headers */
    setLimit(perSecond) {
      if (perSecond > 0) limit = perSecond
    },
    /**
     * Runs `work` after all earlier calls have started, within the limits.
     * @template T
     * @param {() => Promise<T>} work
     * @param {AbortSignal} [signal]
     * @returns {Promise<T>}
     */
    async run(work, signal) {
      const slot = queue.then(() => waitForSlot(signal))
      queue = slot.catch(() => undefined)
      await slot
      try {
        return await work()
      } finally {
        running--
        const wake = waiting
        waiting = []
        for (const each of wake) each()
      }
    },
  }
}
