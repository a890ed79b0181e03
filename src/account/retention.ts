import { requestLogDrop, requestLogExtend } from '../../sql/functions.ts'
import { idempotencyForget, leaseDeleteExpired, spendingLimitForget } from '../../sql/queries.ts'
import { type Database, SqlError } from '../db/database.ts'
import type { Job } from '../lib/job.ts'
import type { Log } from '../lib/log.ts'

/** The least number of days for which the log may be kept. */
export const RETENTION_DAYS_MIN = 90

const WEEKS_AHEAD = 4
/** Days after the last charge until the spending of a key's day or of a session is deleted. */
const SPENDING_DAYS = 30
const LEASE_DAYS = 1
const EVERY_MS = 3_600_000
/** Pause after a failed round: a dump of the database, for example, blocks the drop of partitions. */
const RETRY_MS = 60_000
const DEADLINE_MS = 120_000
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Maintains the log every hour; several processes may do so at once. A round creates the partitions of the next weeks,
 * deletes old spending of keys and sessions, idempotency keys and leases of dead processes, then drops whole weeks of
 * the log older than `days`; 0 keeps all. A round throws `UnavailableError`, and `SqlError` if a table is locked.
 */
export function retentionJob(options: { readonly db: Database; readonly log: Log; readonly days: number }): Job {
  const { db, log, days } = options
  return {
    name: 'log_retention',
    everyMs: EVERY_MS,
    retryMs: { least: RETRY_MS, most: RETRY_MS },
    async round() {
      await requestLogExtend(db, { weeks: WEEKS_AHEAD }, { deadlineMs: DEADLINE_MS })
      await spendingLimitForget(db, { days: SPENDING_DAYS }, { deadlineMs: DEADLINE_MS })
      await idempotencyForget(db, {}, { deadlineMs: DEADLINE_MS })
      await leaseDeleteExpired(db, { days: LEASE_DAYS }, { deadlineMs: DEADLINE_MS })
      while (days > 0) {
        const [row] = await requestLogDrop(db, { days }, { deadlineMs: DEADLINE_MS })
        if (row === undefined) break
        const { dropped: partition, requests, credits } = row
        log.info({ msg: 'Dropped an expired partition of the request log', partition, requests, credits })
      }
      return undefined
    },
    onError(error) {
      if (error instanceof SqlError && error.code === LOCK_NOT_AVAILABLE) return
      log.error({ msg: 'Failed to maintain the request log', error })
    },
  }
}
