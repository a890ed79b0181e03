import type { Clock } from '../clock.ts'
import { UnavailableError } from '../error.ts'
import { createFairQueue } from './fair_queue.ts'
import { createIdleWaiter } from './wait.ts'

/**
 * Creates a limiter of work that cannot be batched: at most `runsMax` at a time, of owners in turn, however much each
 * has waiting. Work that waits longer than `waitMs`, or beyond `queueMax`, is rejected with `UnavailableError` and never
 * begun.
 */
export function createFairLimiter(options: {
  readonly clock: Clock
  readonly runsMax: number
  readonly queueMax: number
  readonly waitMs: number
}) {
  const { clock, runsMax, queueMax, waitMs } = options
  const queue = createFairQueue<() => void>()
  let running = 0
  const idle = createIdleWaiter(() => running === 0)

  async function start<T>(work: () => Promise<T>): Promise<T> {
    running++
    try {
      return await work()
    } finally {
      running--
      queue.next()?.()
      idle.check()
    }
  }

  return {
    run<T>(owner: string, work: () => Promise<T>): Promise<T> {
      if (running < runsMax) return start(work)
      if (queue.size >= queueMax) return Promise.reject(waitingError())
      return new Promise((resolve, reject) => {
        const begin = () => {
          cancel()
          resolve(start(work))
        }
        const cancel = clock.after(waitMs, () => {
          queue.delete(owner, begin)
          reject(waitingError())
        })
        queue.add(owner, begin)
      })
    },
    /** Number of runs under way or waiting. */
    get size(): number {
      return running + queue.size
    },
    /** Resolves when none is under way. */
    idle: idle.wait,
  }
}

function waitingError(): UnavailableError {
  return new UnavailableError('Too many requests wait for the database')
}
