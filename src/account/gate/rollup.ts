import { requestRollupFold } from '../../../sql/functions.ts'
import type { Database } from '../../db/database.ts'
import type { Job } from '../../job/job.ts'
import type { Log } from '../../lib/log.ts'

const EVERY_MS = 1_000
const DEADLINE_MS = 10_000

/**
 * Counts new log rows into the rollups, a moment after they were written; to be woken when something was logged. It
 * begins with what earlier processes left uncounted. Totals are exact before and after.
 */
export function rollupJob({ db, log }: { readonly db: Database; readonly log: Log }): Job {
  return {
    name: 'log_rollup',
    gatherMs: EVERY_MS,
    retryMs: { least: EVERY_MS, most: EVERY_MS },
    async round() {
      await requestRollupFold(db, {}, { deadlineMs: DEADLINE_MS })
      return undefined
    },
    failed: (error) => log.error({ msg: 'Could not count the log', error }),
  }
}
