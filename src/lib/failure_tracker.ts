import type { Clock } from './clock.ts'

/** Consecutive failures are reported once they have lasted this long. */
const LASTING_MS = 1_000

interface OngoingFailure {
  readonly sinceMs: number
  readonly lastMs: number
  readonly reason: string
}

export type FailureTracker = ReturnType<typeof createFailureTracker>

/**
 * Tracks which steps of a component fail, and why. A component that responds may still fail at some steps: a database
 * with a full disk serves reads but takes no writes.
 */
export function createFailureTracker(clock: Clock) {
  const ongoing = new Map<string, OngoingFailure>()
  return {
    recordSuccess(step: string): void {
      ongoing.delete(step)
    },
    recordFailure(step: string, error: unknown): void {
      const lastMs = clock.monotonicMs()
      const sinceMs = ongoing.get(step)?.sinceMs ?? lastMs
      ongoing.set(step, { sinceMs, lastMs, reason: getRootReason(error) })
    },
    /** Forgets the failures of all steps. */
    clear(): void {
      ongoing.clear()
    },
    /** The message of the innermost cause of a failure that lasts; undefined if no step fails. */
    get reason(): string | undefined {
      return [...ongoing.values()].find(({ sinceMs, lastMs }) => lastMs - sinceMs >= LASTING_MS)?.reason
    },
  }
}

/** Returns the message of the innermost cause. */
export function getRootReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : getRootReason(error.cause)
}
