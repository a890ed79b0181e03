import type { Clock } from '../clock.ts'
import { UnavailableError } from '../error.ts'
import { createIdleWaiter, untilAborted } from './abort.ts'

/**
 * Creates a queue that serves requesters in turn, however many items each has queued. Requesters without items take no
 * memory.
 */
export function createFairQueue<T>() {
  // A Map keeps the order of insertion: the requester served most recently is last.
  const itemsByRequester = new Map<string, Set<T>>()
  let size = 0

  function remove(requester: string, item: T): void {
    const own = itemsByRequester.get(requester)
    if (own?.delete(item) !== true) return
    size--
    if (own.size === 0) itemsByRequester.delete(requester)
  }

  return {
    add(requester: string, item: T): void {
      const own = itemsByRequester.get(requester) ?? new Set()
      itemsByRequester.set(requester, own)
      if (own.has(item)) return
      own.add(item)
      size++
    },
    /** Removes an item before its turn. */
    delete: remove,
    /** Takes the next item: the oldest of the requester served longest ago; undefined if the queue is empty. */
    next(): T | undefined {
      for (const [requester, own] of itemsByRequester) {
        for (const item of own) {
          remove(requester, item)
          if (itemsByRequester.delete(requester)) itemsByRequester.set(requester, own)
          return item
        }
      }
      return undefined
    },
    get size(): number {
      return size
    },
    /** Number of items of one requester. */
    countItems: (requester: string): number => itemsByRequester.get(requester)?.size ?? 0,
  }
}

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

/** Runs tasks of requesters in turn. */
interface FairTurns {
  /** Runs a task in its turn, alternating requesters. Throws `AbortedError` if `signal` fires while it waits. */
  run<T>(
    task: () => Promise<T>,
    options: { readonly signal: AbortSignal; readonly requester?: string | undefined },
  ): Promise<T>
}

/** Creates turns of requesters, however many tasks each has: at most `getLimit()` tasks run at a time, which may change. */
export function createFairTurns(getLimit: () => number): FairTurns {
  const waiting = createFairQueue<() => void>()
  let running = 0

  async function take(requester: string, signal: AbortSignal): Promise<void> {
    if (running < getLimit()) {
      running++
      return
    }
    let isGranted = false
    let grant: () => void = () => {}
    const turn = new Promise<void>((resolve) => {
      grant = () => {
        isGranted = true
        resolve()
      }
    })
    waiting.add(requester, grant)
    try {
      await untilAborted(turn, signal)
    } catch (error) {
      waiting.delete(requester, grant)
      // The turn may have come in the same tick.
      if (isGranted) end()
      throw error
    }
  }

  /** Grants what is free to waiting tasks, so that a new task cannot take it first. */
  function end(): void {
    running--
    while (running < getLimit()) {
      const grant = waiting.next()
      if (grant === undefined) return
      running++
      grant()
    }
  }

  return {
    async run(task, { signal, requester = '' }) {
      await take(requester, signal)
      try {
        return await task()
      } finally {
        end()
      }
    },
  }
}
