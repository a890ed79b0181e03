import { requestRollupFold } from '../../../sql/functions.ts'
import type { Database } from '../../db/database.ts'
import type { Job } from '../../lib/job.ts'
import type { Log } from '../../lib/log.ts'

const EVERY_MS = 1_000
const DEADLINE_MS = 10_000

/**
 * Adds new log rows to the rollups within about a second; the gate wakes the job after each logged batch. The first
 * round counts rows that earlier processes left uncounted. Totals are exact before and after a round.
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
    onError: (error) => log.error({ msg: 'Failed to roll up the request log', error }),
  }
}
