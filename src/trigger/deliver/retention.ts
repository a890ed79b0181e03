import { messageDeleteOld } from '../../../sql/queries.ts'
import type { Database } from '../../db/database.ts'
import type { Job } from '../../lib/job.ts'
import type { Log } from '../../lib/log.ts'

/** Messages are kept this many days, whatever their outcome. */
export const MESSAGE_DAYS = 30
const EVERY_MS = 3_600_000
const AGAIN_MS = 60_000
const DEADLINE_MS = 60_000
/** Maximum messages of an organization that one statement deletes. */
const EACH = 2_000

/** Creates the job that deletes old messages every hour; several processes may run it at once. */
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
    onError: (error) => log.error({ msg: 'Failed to delete old trigger messages', error }),
  }
}
