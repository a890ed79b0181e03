import { delay } from './time.ts'

const WINDOW_MS = 1_050
/** Default limit of an organization; the first answer's headers give the real one. */
const LIMIT_FIRST = 5
/** Limit of browsers for connections to one host. */
const CONCURRENCY_MAX = 6

/** Creates a limiter that runs requests in order, no faster than the organization's rate limit. */
export function createRateLimiter() {
  let limit = LIMIT_FIRST
  let running = 0
  let sent: number[] = []
  let queue: Promise<void> = Promise.resolve()
  let waiting: (() => void)[] = []

  async function waitForSlot(signal: AbortSignal | undefined) {
    while (true) {
      signal?.throwIfAborted()
      const now = performance.now()
      sent = sent.filter((at) => now - at < WINDOW_MS)
      if (running >= CONCURRENCY_MAX) await new Promise<void>((resolve) => waiting.push(resolve))
      else if (sent.length >= limit) await delay(WINDOW_MS - (now - (sent[0] ?? now)), signal)
      else break
    }
    sent.push(performance.now())
    running++
  }

  return {
    /** `perSecond`: limit from the answers' headers. */
    setLimit(perSecond: number) {
      if (perSecond > 0) limit = perSecond
    },
    /** Runs `work` after all earlier calls have started, within the limits. */
    async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
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
