import { untilAborted } from '../lib/abort.ts'
import { UpstreamError } from '../lib/error.ts'

/** Too many of our own calls wait for an endpoint already; says nothing about the endpoint's health. */
export class CrowdedError extends UpstreamError {}

/** Calls that run against one endpoint at a time, and those that may wait for their turn. */
export const ENDPOINT_LIMITS = { runningMax: 32, waitingMax: 512 } as const

/** Runs at most `runningMax` tasks at a time; the others wait in order of arrival. */
export interface Slots {
  /** Throws `CrowdedError` where `waitingMax` tasks wait already, `AbortedError` where `signal` fires while waiting. */
  run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T>
}

/** Makes a limit on tasks at a time with a bounded queue before it. */
export function createSlots(limits: { readonly runningMax: number; readonly waitingMax: number }): Slots {
  let running = 0
  const waiting = new Set<() => void>()

  async function enter(signal: AbortSignal): Promise<void> {
    if (running < limits.runningMax) {
      running++
      return
    }
    if (waiting.size >= limits.waitingMax) throw new CrowdedError('Too many calls are waiting for the endpoint')
    let granted = false
    let grant: () => void = () => {}
    const turn = new Promise<void>((resolve) => {
      grant = () => {
        granted = true
        resolve()
      }
    })
    waiting.add(grant)
    try {
      await untilAborted(turn, signal)
    } catch (error) {
      waiting.delete(grant)
      // The slot may have been handed over in the same tick: it goes on to the next in line.
      if (granted) leave()
      throw error
    }
  }

  /** A freed slot is handed to the first who waits, so that nobody can slip in between. */
  function leave(): void {
    const [next] = waiting
    if (next === undefined) {
      running--
      return
    }
    waiting.delete(next)
    next()
  }

  return {
    async run(task, signal) {
      await enter(signal)
      try {
        return await task()
      } finally {
        leave()
      }
    },
  }
}
