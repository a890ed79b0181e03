import { requestLogDrop, requestLogExtend } from '../../sql/functions.ts'
import { idempotencyForget, leaseDeleteExpired, spendingLimitForget } from '../../sql/queries.ts'
import { type Database, SqlError } from '../db/database.ts'
import type { Job } from '../job/job.ts'
import type { Log } from '../lib/log.ts'

/** The log is kept at least this long. */
export const RETENTION_DAYS_MIN = 90

const WEEKS_AHEAD = 4
/** What a key has spent in a day and what a session has spent is forgotten this long after the last charge. */
const SPENDING_DAYS = 30
const LEASE_DAYS = 1
const EVERY_MS = 3_600_000
/** After a failed round: no partition can be dropped during a dump of the database, for example. */
const AGAIN_MS = 60_000
const DEADLINE_MS = 120_000
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * Tends the log every hour; several processes may do so at once. A round makes the partitions of the next weeks, forgets
 * old days of keys, old sessions, idempotency keys and leases of dead processes, then drops whole weeks of the log
 * older than `days`; 0 keeps all. It throws `UnavailableError`, and `SqlError` if others use what must be changed.
 */
export function retentionJob(options: { readonly db: Database; readonly log: Log; readonly days: number }): Job {
  const { db, log, days } = options
  return {
    name: 'log_retention',
    everyMs: EVERY_MS,
    retryMs: { least: AGAIN_MS, most: AGAIN_MS },
    async round() {
      await requestLogExtend(db, { weeks: WEEKS_AHEAD }, { deadlineMs: DEADLINE_MS })
      await spendingLimitForget(db, { days: SPENDING_DAYS }, { deadlineMs: DEADLINE_MS })
      await idempotencyForget(db, {}, { deadlineMs: DEADLINE_MS })
      await leaseDeleteExpired(db, { days: LEASE_DAYS }, { deadlineMs: DEADLINE_MS })
      while (days > 0) {
        const [row] = await requestLogDrop(db, { days }, { deadlineMs: DEADLINE_MS })
        if (row === undefined) break
        const { dropped: partition, requests, credits } = row
        log.info({ msg: 'Dropped a part of the request log for its age', partition, requests, credits })
      }
      return undefined
    },
    failed(error) {
      if (error instanceof SqlError && error.code === LOCK_NOT_AVAILABLE) return
      log.error({ msg: 'Could not tend the request log', error })
    },
  }
}
