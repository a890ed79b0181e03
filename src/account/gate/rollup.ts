import foldSql from '../../../sql/queries/request_rollup_fold.sql' with { type: 'text' }
import type { Database } from '../../db/database.ts'
import { query } from '../../db/query.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'

const fold = query(foldSql, 'background')

/** Counts new log rows into the rollups, a moment after they were written. Totals are exact before and after. */
interface RollupFolder {
  /** To be called when something was logged. */
  wake(): void
  /** Starts nothing more. */
  stop(): void
}

const EVERY_MS = 1_000
const DEADLINE_MS = 10_000

/** Makes a folder; it begins with what earlier processes left uncounted. */
export function createRollupFolder({ db, log }: { readonly db: Database; readonly log: Log }): RollupFolder {
  let timer: ReturnType<typeof setTimeout> | undefined
  let stopped = false

  function wake(): void {
    if (timer !== undefined || stopped) return
    timer = setTimeout(() => void run(), EVERY_MS)
    timer.unref()
  }

  async function run(): Promise<void> {
    let failed = false
    try {
      await fold(db, [], { deadlineMs: DEADLINE_MS })
    } catch (error) {
      failed = true
      if (!(error instanceof UnavailableError)) log.error({ msg: 'Could not count the log', error })
    }
    timer = undefined
    if (failed) wake()
  }

  wake()
  return {
    wake,
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
