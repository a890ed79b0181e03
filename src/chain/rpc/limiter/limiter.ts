import { untilAborted } from '../../../lib/async/abort.ts'
import { getRequesters, type Requesters } from '../../../lib/async/requesters.ts'
import { UpstreamError } from '../../../lib/error.ts'

/** Too many of our own calls already wait for an endpoint; says nothing about its health. */
export class QueueFullError extends UpstreamError {}

/** Who waits for a call: a caller, or work in the background. */
export type Priority = 'caller' | 'background'

/** Upper and lower bound of callers' calls that run at a time, and how many calls may wait. */
interface ConcurrencyLimits {
  readonly runningMax: number
  readonly runningMin: number
  readonly waitingMax: number
}

/** Enough for a hundred callers of one organization to share one round trip; an endpoint that limits its rate gets fewer. */
export const ENDPOINT_LIMITS: ConcurrencyLimits = { runningMax: 192, runningMin: 4, waitingMax: 768 }

/**
 * Of all endpoints together: Bun sends at most 256 requests at a time, and a further one waits where its time limit
 * already runs and nobody looks who asks.
 */
export const PROCESS_LIMITS: ConcurrencyLimits = { runningMax: 240, runningMin: 240, waitingMax: 4_096 }

/** What each of several processes may take, so that all of them together keep the limits. */
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
 * One asker has at most so many times as many places as are left free: two thirds of all if nobody else asks, and with
 * any number of greedy ones some are left for the next who comes.
 */
const PLACES_PER_FREE = 2
/** What is nobody's in particular is our own: it is counted together, and limited by the number of places alone. */
const OURS = ''

/** Runs a limited number of tasks at a time; the others wait for their turn. */
export type RequestLimiter = ReturnType<typeof createRequestLimiter>

/** A task that waits for a slot. */
interface QueuedTask {
  readonly askers: Requesters
  /** Hands it what gives the slot back. */
  readonly grant: (leave: () => void) => void
}

/** Makes slots with a bounded queue before them. */
export function createRequestLimiter({ runningMax, runningMin, waitingMax }: ConcurrencyLimits) {
  const running = createTally()
  let runningInBackground = 0
  const waiting: Readonly<Record<Priority, Set<QueuedTask>>> = { caller: new Set(), background: new Set() }
  const queued = { caller: createTally(), background: createTally() } as const
  let limit = runningMax
  let succeeded = 0
  let finished = Number.POSITIVE_INFINITY

  /** Takes a slot; what gives it back, or undefined if none is free for these askers. */
  function take(priority: Priority, askers: Requesters): (() => void) | undefined {
    if (priority === 'background') {
      const share = Math.max(1, Math.floor(limit * BACKGROUND_SHARE))
      if (runningInBackground >= share || running.total + runningInBackground >= limit) return undefined
      runningInBackground++
      return () => {
        runningInBackground--
        grantNext()
      }
    }
    const asker = running.leastOf(askers)
    if (!running.mayAdd(asker, limit)) return undefined
    running.add(asker)
    return () => {
      running.remove(asker)
      grantNext()
    }
  }

  /** Waits for a slot; what gives it back. */
  async function enter(signal: AbortSignal, priority: Priority): Promise<() => void> {
    const askers = getRequesters(signal)
    const free = take(priority, askers)
    if (free !== undefined) return free
    const asker = queued[priority].leastOf(askers)
    if (!queued[priority].mayAdd(asker, waitingMax)) {
      throw new QueueFullError('Too many calls are waiting for the endpoint')
    }
    queued[priority].add(asker)
    let granted: (() => void) | undefined
    let entry: QueuedTask | undefined
    const turn = new Promise<() => void>((resolve) => {
      const grant = (leave: () => void) => {
        granted = leave
        resolve(leave)
      }
      entry = { askers, grant }
      waiting[priority].add(entry)
    })
    try {
      return await untilAborted(turn, signal)
    } catch (error) {
      if (entry !== undefined) waiting[priority].delete(entry)
      // The slot may have been granted in the same tick: it goes to the next in line.
      granted?.()
      throw error
    } finally {
      queued[priority].remove(asker)
    }
  }

  /** Gives freed slots to those who wait, so that a new task cannot take them first. */
  function grantNext(): void {
    for (;;) {
      const next = nextCaller()
      if (next === undefined || !grantTo(next, 'caller')) break
    }
    for (const next of waiting.background) if (!grantTo(next, 'background')) break
  }

  function grantTo(entry: QueuedTask, priority: Priority): boolean {
    const leave = take(priority, entry.askers)
    if (leave === undefined) return false
    waiting[priority].delete(entry)
    entry.grant(leave)
    return true
  }

  /** The first that waits of the asker who has the fewest running. */
  function nextCaller(): QueuedTask | undefined {
    let next: QueuedTask | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const entry of waiting.caller) {
      const asker = running.leastOf(entry.askers)
      const count = running.of(asker)
      if (count >= fewest || !running.mayAdd(asker, limit)) continue
      next = entry
      fewest = count
      if (count === 0) break
    }
    return next
  }

  return {
    /**
     * Runs a task in its turn: of those that wait, the first one of the asker who has the fewest running. `signal` says
     * for whom it is; a task for several counts for the one of them who has the fewest. Background work runs only in
     * slots that callers leave free. Throws `QueueFullError` if too many of the asker's tasks wait already, `AbortedError`
     * if `signal` fires while waiting.
     */
    async run<T>(task: () => Promise<T>, signal: AbortSignal, priority: Priority = 'caller'): Promise<T> {
      const leave = await enter(signal, priority)
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
        leave()
      }
    },
    /** Halves the number of slots after a rate limit; they grow again one by one as tasks succeed. */
    slowDown(): void {
      // A burst that was too large is refused call by call, but counts once.
      if (finished < limit) return
      limit = Math.max(runningMin, Math.floor(limit / 2))
      succeeded = 0
      finished = 0
    },
  }
}

/** Counts places that are taken, by asker; one without any takes no memory. */
function createTally() {
  const counts = new Map<string, number>()
  let total = 0
  const of = (asker: string): number => counts.get(asker) ?? 0
  return {
    get total() {
      return total
    },
    /** Places that an asker has taken. */
    of,
    /** The one of them who has taken the fewest; for nobody in particular it is ourselves. */
    leastOf(askers: Requesters): string {
      let least = OURS
      let fewest = Number.POSITIVE_INFINITY
      for (const asker of askers) {
        if (of(asker) >= fewest) continue
        least = asker
        fewest = of(asker)
      }
      return least
    },
    /** True if one more of `places` is free for the asker. */
    mayAdd(asker: string, places: number): boolean {
      const free = places - total
      return free > 0 && (asker === OURS || of(asker) < PLACES_PER_FREE * free)
    },
    add(asker: string): void {
      counts.set(asker, of(asker) + 1)
      total++
    },
    remove(asker: string): void {
      if (of(asker) > 1) counts.set(asker, of(asker) - 1)
      else counts.delete(asker)
      total--
    },
  }
}
