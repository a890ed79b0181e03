import { readFileSync } from 'node:fs'
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

/** Number of SIGHUP, whose bit in a mask of signals is the lowest one. */
const SIGHUP = 1

/**
 * Calls `onSignal` at SIGINT, SIGTERM and SIGHUP. A handler would undo that `nohup` ignores SIGHUP, so there is none if
 * the process started with it ignored.
 */
export function listenForStop(onSignal: (signal: NodeJS.Signals) => void): void {
  const signals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', ...(isHangupIgnored() ? [] : ['SIGHUP' as const])]
  for (const signal of signals) process.on(signal, () => onSignal(signal))
}

/** True if the process ignores SIGHUP. False where the system does not tell: only Linux has the file. */
function isHangupIgnored(): boolean {
  try {
    const [, mask = '0'] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return (BigInt(`0x${mask}`) & BigInt(SIGHUP)) !== 0n
  } catch {
    return false
  }
}
