import { untilAborted } from './abort.ts'
import { createFairQueue } from './fair_queue.ts'

/** Runs tasks of requesters in turn. */
export interface FairTurns {
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
