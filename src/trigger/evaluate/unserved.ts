import type { Database } from '../../db/database.ts'
import type { Job } from '../../job/job.ts'
import type { Log } from '../../lib/log.ts'
import { acquirePartition, notifyBlindTriggers, type TriggerPartition } from './partition.ts'

const LOOK_MS = 5_000
const RETRY_MS = { least: 1_000, most: 30_000 }

/**
 * The loop of a line whose chain this process does not serve, because the operator took it away: says who is blind, unless
 * another process serves the chain.
 */
export function unservedJob(options: {
  readonly line: TriggerPartition
  readonly db: Database
  /** Names this process. */
  readonly holder: string
  readonly log: Log
}): Job {
  const { line, db, holder, log } = options
  const { chainId, finality } = line
  return {
    name: `triggers ${chainId} ${finality}`,
    retryMs: RETRY_MS,
    failed: (error) => log.error({ msg: 'Could not tell that triggers are not evaluated', chainId, error }),
    async round() {
      // For no time, so that whoever serves the chain never waits for us.
      const tenure = await acquirePartition(db, { ...line, leaseSec: 0 }, holder)
      const told = tenure === undefined ? 0 : await notifyBlindTriggers(db, line, tenure)
      if (told > 0) log.warn({ msg: 'Told that triggers are not evaluated', chainId, messages: told })
      return LOOK_MS
    },
  }
}
