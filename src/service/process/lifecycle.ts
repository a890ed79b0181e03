import { TIMED_OUT, withTimeout } from '../../lib/async/wait.ts'
import type { Log } from '../../lib/log.ts'

/** Something with a start and a stop. */
interface LifecyclePart<T> {
  /** What the log calls it. */
  readonly name: string
  readonly start: () => T | Promise<T>
  readonly stop: (started: T) => unknown
  /** Milliseconds that stopping may take before the next part has its turn. @default {50} */
  readonly limitMs?: number
}

/** What a part takes that has nothing to wait for. */
const INSTANT_MS = 50

/** The parts of the process, in the order in which they started. */
export interface Lifecycle {
  /** Starts a part and returns what it made. Throws what `start` throws; that part is then not stopped. */
  start<T>(part: LifecyclePart<T>): Promise<T>
  /** Stops every started part, the latest first. Never rejects; a second call waits for the first. */
  stop(): Promise<void>
}

/** Makes an empty lifecycle. A part that fails to stop, or takes too long, is logged and left. */
export function createLifecycle(log: Log): Lifecycle {
  const started: { readonly name: string; readonly limitMs: number; readonly stop: () => Promise<unknown> }[] = []
  let stopping: Promise<void> | undefined

  async function stopAll(): Promise<void> {
    for (let part = started.pop(); part !== undefined; part = started.pop()) {
      const { name, limitMs, stop } = part
      try {
        await withTimeout(limitMs, stop())
      } catch (error) {
        if (error === TIMED_OUT) log.warn({ msg: 'Left a part that did not stop in time', part: name })
        else log.error({ msg: 'Could not stop a part', part: name, error })
      }
    }
  }

  return {
    async start({ name, limitMs = INSTANT_MS, start, stop }) {
      const made = await start()
      started.push({ name, limitMs, stop: async () => stop(made) })
      return made
    },
    stop() {
      stopping ??= stopAll()
      return stopping
    },
  }
}
