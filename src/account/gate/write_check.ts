import { gateTry } from '../../../sql/functions.ts'
import type { Database } from '../../db/database.ts'
import type { Clock } from '../../lib/clock.ts'
import { type FailureTracker, getRootReason } from '../../lib/failure_tracker.ts'

/** How long a settlement, or a try, shows that the database takes writes, milliseconds. */
const PROOF_MS = 10_000
/** Requests of a try: few while nothing failed; else more than a page of the log holds, so that the disk must have room. */
const REQUESTS = { usual: 1, inTrouble: 100 }

/**
 * Creates the check whether requests can be admitted and charged now. It does not wait for callers to be refused, and
 * what they met counts until a try succeeds: a process that is not ready gets no requests that could show its recovery.
 */
export function createWriteCheck({
  db,
  clock,
  trouble,
}: {
  readonly db: Database
  readonly clock: Clock
  readonly trouble: FailureTracker
}) {
  let provenAtMs = Number.NEGATIVE_INFINITY
  return {
    recordSuccess(): void {
      provenAtMs = clock.monotonicMs()
    },
    /** Returns the database's error if requests cannot be admitted or charged now, else undefined. Never rejects. */
    async findTrouble(): Promise<string | undefined> {
      const isInTrouble = trouble.reason !== undefined
      if (!isInTrouble && clock.monotonicMs() - provenAtMs < PROOF_MS) return undefined
      try {
        await gateTry(db, { requests: isInTrouble ? REQUESTS.inTrouble : REQUESTS.usual })
      } catch (error) {
        trouble.recordFailure('try', error)
        return trouble.reason ?? getRootReason(error)
      }
      trouble.clear()
      provenAtMs = clock.monotonicMs()
      return undefined
    },
  }
}
