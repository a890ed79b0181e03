import { messageDeleteOld } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import type { Job } from '../../job/job.ts'
import type { Log } from '../../lib/log.ts'

/** Messages are kept so long, whatever became of them. */
export const MESSAGE_DAYS = 30
const EVERY_MS = 3_600_000
const AGAIN_MS = 60_000
const DEADLINE_MS = 60_000
/** Of an organization in one statement. */
const EACH = 2_000

/** Forgets old messages every hour; several processes may do so at once. */
export function messageRetentionJob({ db, log }: { readonly db: Database; readonly log: Log }): Job {
  return {
    name: 'message_retention',
    everyMs: EVERY_MS,
    retryMs: { least: AGAIN_MS, most: AGAIN_MS },
    async round(signal) {
      for (;;) {
        const [row] = await messageDeleteOld(db, { days: MESSAGE_DAYS, each: EACH }, { deadlineMs: DEADLINE_MS })
        if (signal.aborted || row === undefined || row.deleted === 0) return undefined
      }
    },
    failed: (error) => log.error({ msg: 'Could not forget old messages of triggers', error }),
  }
}
