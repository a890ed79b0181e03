import type { Clock } from './clock.ts'

/** Failures without a success between them are trouble once they last so long. */
const LASTING_MS = 1_000
/** Later than this after the last try nobody knows whether it is over. */
const KNOWN_MS = 10_000

interface OngoingFailure {
  readonly sinceMs: number
  readonly lastMs: number
  readonly reason: string
}

export type FailureTracker = ReturnType<typeof createFailureTracker>

/**
 * Remembers which steps of something fail, and why. What answers questions may still fail at its work: a database whose
 * disk is full takes no writes.
 */
export function createFailureTracker(clock: Clock) {
  const failing = new Map<string, OngoingFailure>()
  return {
    succeeded(step: string): void {
      failing.delete(step)
    },
    failed(step: string, error: unknown): void {
      const lastMs = clock.monotonicMs()
      const sinceMs = failing.get(step)?.sinceMs ?? lastMs
      failing.set(step, { sinceMs, lastMs, reason: getRootReason(error) })
    },
    /** Why a step fails, in the words of the innermost cause; undefined if none does, or none was tried lately. */
    get reason(): string | undefined {
      const nowMs = clock.monotonicMs()
      const lasting = [...failing.values()].find(
        ({ sinceMs, lastMs }) => lastMs - sinceMs >= LASTING_MS && nowMs - lastMs < KNOWN_MS,
      )
      return lasting?.reason
    },
  }
}

function getRootReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : getRootReason(error.cause)
}
