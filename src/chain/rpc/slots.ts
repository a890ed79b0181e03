import { untilAborted } from '../../lib/async/abort.ts'
import { UpstreamError } from '../../lib/error.ts'

/** Too many of our own calls already wait for an endpoint; says nothing about its health. */
export class CrowdedError extends UpstreamError {}

/** Who waits for a call: a caller, or work in the background. */
export type Priority = 'caller' | 'background'

/** Upper and lower bound of callers' calls that run against one endpoint at a time, and how many calls may wait. */
interface SlotLimits {
  readonly runningMax: number
  readonly runningMin: number
  readonly waitingMax: number
}

/** Enough for a hundred callers to share one round trip; an endpoint that limits its rate gets fewer. */
export const ENDPOINT_LIMITS: SlotLimits = { runningMax: 128, runningMin: 4, waitingMax: 512 }

/** Background work has at most this share of the slots. */
const BACKGROUND_SHARE = 0.25

/** Runs a limited number of tasks at a time; the others wait in order of arrival. */
export interface Slots {
  /**
   * Runs a task in its turn. Background work runs only in slots that callers leave free. Throws `CrowdedError` if
   * `waitingMax` tasks wait already, `AbortedError` if `signal` fires while waiting.
   */
  run<T>(task: () => Promise<T>, signal: AbortSignal, priority?: Priority): Promise<T>
  /** Halves the number of slots after a rate limit; they grow again one by one as tasks succeed. */
  slowDown(): void
}

/** Makes slots with a bounded queue before them. */
export function createSlots({ runningMax, runningMin, waitingMax }: SlotLimits): Slots {
  const running: Record<Priority, number> = { caller: 0, background: 0 }
  const waiting: Readonly<Record<Priority, Set<() => void>>> = { caller: new Set(), background: new Set() }
  let limit = runningMax
  let succeeded = 0
  let finished = Number.POSITIVE_INFINITY

  function mayRun(priority: Priority): boolean {
    if (priority === 'caller') return running.caller < limit
    const share = Math.max(1, Math.floor(limit * BACKGROUND_SHARE))
    return waiting.caller.size === 0 && running.background < share && running.caller + running.background < limit
  }

  async function enter(signal: AbortSignal, priority: Priority): Promise<void> {
    if (mayRun(priority)) {
      running[priority]++
      return
    }
    if (waiting.caller.size + waiting.background.size >= waitingMax) {
      throw new CrowdedError('Too many calls are waiting for the endpoint')
    }
    let granted = false
    let grant: () => void = () => {}
    const turn = new Promise<void>((resolve) => {
      grant = () => {
        granted = true
        resolve()
      }
    })
    waiting[priority].add(grant)
    try {
      await untilAborted(turn, signal)
    } catch (error) {
      waiting[priority].delete(grant)
      // The slot may have been granted in the same tick: it goes to the next in line.
      if (granted) leave(priority)
      throw error
    }
  }

  /** Gives a freed slot to the first that waits, so that a new task cannot take it first. */
  function leave(priority: Priority): void {
    running[priority]--
    for (const next of ['caller', 'background'] as const) {
      for (const grant of waiting[next]) {
        if (!mayRun(next)) break
        waiting[next].delete(grant)
        running[next]++
        grant()
      }
    }
  }

  return {
    async run(task, signal, priority = 'caller') {
      await enter(signal, priority)
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
        leave(priority)
      }
    },
    slowDown() {
      // A burst that was too large is refused call by call, but counts once.
      if (finished < limit) return
      limit = Math.max(runningMin, Math.floor(limit / 2))
      succeeded = 0
      finished = 0
    },
  }
}
