import { untilAborted } from '../../lib/async/abort.ts'
import type { Requesters, Work } from '../../lib/async/work.ts'
import type { Priority } from './client.ts'
import { EndpointError } from './error.ts'

/** Bounds of the adaptive number of concurrent calls, and the maximum number of waiting calls. */
interface ConcurrencyLimits {
  readonly runningMax: number
  readonly runningMin: number
  readonly waitingMax: number
}

/** Enough for a hundred callers of one organization in one round trip; lowered on endpoints that limit their rate. */
export const ENDPOINT_LIMITS: ConcurrencyLimits = { runningMax: 192, runningMin: 4, waitingMax: 768 }

/** Limit over all endpoints, so that connections and the bodies in memory stay bounded: beyond it requests wait in turn. */
export const PROCESS_LIMITS: ConcurrencyLimits = { runningMax: 240, runningMin: 240, waitingMax: 4_096 }

/** Divides limits among processes, so that all of them together stay within the limits. */
export function divideLimits(
  { runningMax, runningMin, waitingMax }: ConcurrencyLimits,
  processes: number,
): ConcurrencyLimits {
  return {
    runningMax: Math.max(1, Math.floor(runningMax / processes)),
    runningMin: Math.max(1, Math.floor(runningMin / processes)),
    waitingMax: Math.max(1, Math.floor(waitingMax / processes)),
  }
}

/** Background work has at most this share of the slots. */
const BACKGROUND_SHARE = 0.25

/**
 * A requester may hold at most `SLOTS_PER_FREE` × the free slots, so a greedy one always leaves room. A single
 * requester gets two thirds of all slots.
 */
const SLOTS_PER_FREE = 2
/** Work without a requester counts as the service's own and is limited only by the total. */
const SERVICE_OWN = ''

/** Runs a limited number of tasks concurrently; the others wait for their turn. */
export type RequestLimiter = ReturnType<typeof createRequestLimiter>

/** A task that waits for a slot. */
interface QueuedTask {
  readonly requesters: Requesters
  /** Grants the slot; `release` returns it. */
  readonly grant: (leave: () => void) => void
}

/** Creates a limiter with a bounded queue. */
export function createRequestLimiter({ runningMax, runningMin, waitingMax }: ConcurrencyLimits) {
  const running = createTally()
  let runningInBackground = 0
  const waiting: Readonly<Record<Priority, Set<QueuedTask>>> = { caller: new Set(), background: new Set() }
  const queued = { caller: createTally(), background: createTally() } as const
  let limit = runningMax
  let succeeded = 0
  let finished = Number.POSITIVE_INFINITY

  /** Takes a slot and returns its release function; undefined if no slot is free for these requesters. */
  function take(priority: Priority, requesters: Requesters): (() => void) | undefined {
    if (priority === 'background') {
      const share = Math.max(1, Math.floor(limit * BACKGROUND_SHARE))
      if (runningInBackground >= share || running.total + runningInBackground >= limit) return undefined
      runningInBackground++
      return () => {
        runningInBackground--
        grantNext()
      }
    }
    const requester = running.pickLeastLoaded(requesters)
    if (!running.canAdd(requester, limit)) return undefined
    running.add(requester)
    return () => {
      running.remove(requester)
      grantNext()
    }
  }

  /** Waits for a slot and returns its release function. */
  async function acquire(work: Work, priority: Priority): Promise<() => void> {
    const { requesters } = work
    const free = take(priority, requesters)
    if (free !== undefined) return free
    const requester = queued[priority].pickLeastLoaded(requesters)
    if (!queued[priority].canAdd(requester, waitingMax)) {
      throw new EndpointError('queue_full', 'Too many calls are waiting for the endpoint')
    }
    queued[priority].add(requester)
    let granted: (() => void) | undefined
    let entry: QueuedTask | undefined
    const turn = new Promise<() => void>((resolve) => {
      const grant = (release: () => void) => {
        granted = release
        resolve(release)
      }
      entry = { requesters, grant }
      waiting[priority].add(entry)
    })
    try {
      return await untilAborted(turn, work.signal)
    } catch (error) {
      if (entry !== undefined) waiting[priority].delete(entry)
      // The slot may have been granted in the same tick: release it to the next waiting task.
      granted?.()
      throw error
    } finally {
      queued[priority].remove(requester)
    }
  }

  /** Grants freed slots to waiting tasks, so that a new task cannot take them first. */
  function grantNext(): void {
    for (;;) {
      const next = nextCaller()
      if (next === undefined || !grantTo(next, 'caller')) break
    }
    for (const next of waiting.background) if (!grantTo(next, 'background')) break
  }

  function grantTo(entry: QueuedTask, priority: Priority): boolean {
    const release = take(priority, entry.requesters)
    if (release === undefined) return false
    waiting[priority].delete(entry)
    entry.grant(release)
    return true
  }

  /** Returns the first waiting task of the requester with the fewest running tasks. */
  function nextCaller(): QueuedTask | undefined {
    let next: QueuedTask | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const entry of waiting.caller) {
      const requester = running.pickLeastLoaded(entry.requesters)
      const count = running.getCount(requester)
      if (count >= fewest || !running.canAdd(requester, limit)) continue
      next = entry
      fewest = count
      if (count === 0) break
    }
    return next
  }

  return {
    /**
     * Runs a task in its turn; the requester with the fewest running tasks goes first; a shared task counts for the one
     * with the fewest. Background work runs only in slots that callers leave free. Throws `EndpointError` (queue_full)
     * if too many of the requester's tasks wait already, `AbortedError` if `work` ends while waiting.
     */
    async run<T>(task: () => Promise<T>, work: Work, priority: Priority = 'caller'): Promise<T> {
      const release = await acquire(work, priority)
      try {
        const result = await task()
        succeeded++
        if (succeeded >= limit && limit < runningMax) {
          limit++
          succeeded = 0
        }
        return result
      } finally {
        finished++
        release()
      }
    },
    /** Halves the number of slots after a rate limit; they grow again one by one as tasks succeed. */
    slowDown(): void {
      // A burst that was too large is refused call by call, but halves the limit only once.
      if (finished < limit) return
      limit = Math.max(runningMin, Math.floor(limit / 2))
      succeeded = 0
      finished = 0
    },
  }
}

/** Creates a counter of taken slots by requester. Requesters without slots take no memory. */
function createTally() {
  const counts = new Map<string, number>()
  let total = 0
  const getCount = (requester: string): number => counts.get(requester) ?? 0
  return {
    get total() {
      return total
    },
    /** Returns the number of slots that a requester holds. */
    getCount,
    /** Returns the requester with the fewest slots; the service itself if there is none. */
    pickLeastLoaded(requesters: Requesters): string {
      let least = SERVICE_OWN
      let fewest = Number.POSITIVE_INFINITY
      for (const requester of requesters) {
        if (getCount(requester) >= fewest) continue
        least = requester
        fewest = getCount(requester)
      }
      return least
    },
    /** True if the requester may take one more of `slots`. */
    canAdd(requester: string, slots: number): boolean {
      const free = slots - total
      return free > 0 && (requester === SERVICE_OWN || getCount(requester) < SLOTS_PER_FREE * free)
    },
    add(requester: string): void {
      counts.set(requester, getCount(requester) + 1)
      total++
    },
    remove(requester: string): void {
      if (getCount(requester) > 1) counts.set(requester, getCount(requester) - 1)
      else counts.delete(requester)
      total--
    },
  }
}
