import { TIMED_OUT, withTimeout } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'

/** A component with a start and a stop. */
interface LifecyclePart<T> {
  /** Name in the log. */
  readonly name: string
  readonly start: () => T | Promise<T>
  readonly stop: (started: T) => unknown
  /** Milliseconds that stopping may take before the next component stops. @default {50} */
  readonly limitMs?: number
}

/** Stop limit of a component that has nothing to wait for. */
const INSTANT_MS = 50

/** The components of the process, in the order in which they started. */
export interface Lifecycle {
  /** Starts a component and returns its value. Throws what `start` throws; that component is then not stopped. */
  start<T>(part: LifecyclePart<T>): Promise<T>
  /** Stops every started component, the latest first. Never rejects; a second call waits for the first. */
  stop(): Promise<void>
}

/** Creates an empty lifecycle. A component that fails to stop, or takes too long, is logged and abandoned. */
export function createLifecycle({ clock, log }: { readonly clock: Clock; readonly log: Log }): Lifecycle {
  const started: { readonly name: string; readonly limitMs: number; readonly stop: () => Promise<unknown> }[] = []
  let stopping: Promise<void> | undefined

  async function stopAll(): Promise<void> {
    for (let part = started.pop(); part !== undefined; part = started.pop()) {
      const { name, limitMs, stop } = part
      try {
        await withTimeout(stop(), { ms: limitMs, clock })
      } catch (error) {
        if (error === TIMED_OUT) log.warn({ msg: 'A component did not stop in time', part: name })
        else log.error({ msg: 'Failed to stop a component', part: name, error })
      }
    }
  }

  return {
    async start({ name, limitMs = INSTANT_MS, start, stop }) {
      const result = await start()
      started.push({ name, limitMs, stop: async () => stop(result) })
      return result
    },
    stop() {
      stopping ??= stopAll()
      return stopping
    },
  }
}
