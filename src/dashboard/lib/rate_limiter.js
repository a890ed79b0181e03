import { delay } from './time.js'

const WINDOW_MS = 1_050
/** What a new organization has; the first answer tells the real one. */
const LIMIT_FIRST = 5
/** Browsers open no more connections to one host. */
const CONCURRENCY_MAX = 6

/**
 * Sends requests no faster than the organization's limit allows, in the order in which they were asked for.
 */
export function createRateLimiter() {
  let limit = LIMIT_FIRST
  let running = 0
  /** @type {number[]} */
  let sent = []
  /** @type {Promise<void>} */
  let turn = Promise.resolve()
  /** @type {(() => void)[]} */
  let waiting = []

  /** @param {AbortSignal | undefined} signal */
  async function place(signal) {
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
    /** @param {number} perSecond what the answers' headers say */
    learn(perSecond) {
      if (perSecond > 0) limit = perSecond
    },
    /**
     * Runs `work` when it is its turn.
     * @template T
     * @param {() => Promise<T>} work
     * @param {AbortSignal} [signal]
     * @returns {Promise<T>}
     */
    async run(work, signal) {
      const mine = turn.then(() => place(signal))
      turn = mine.catch(() => undefined)
      await mine
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
