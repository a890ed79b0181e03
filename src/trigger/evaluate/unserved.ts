import type { Database } from '../../db/database.ts'
import type { Job } from '../../lib/job.ts'
import type { Log } from '../../lib/log.ts'
import { acquirePartition, notifyBlindTriggers, type TriggerPartition } from './partition.ts'

const LOOK_MS = 5_000
const RETRY_MS = { least: 1_000, most: 30_000 }

/**
 * The loop of a partition whose chain this process does not serve, because the operator removed it: notifies owners of
 * blind triggers, unless another process serves the chain.
 */
export function unservedJob(options: {
  readonly partition: TriggerPartition
  readonly db: Database
  /** Names this process. */
  readonly holder: string
  readonly log: Log
}): Job {
  const { partition, db, holder, log } = options
  const { chainId, finality } = partition
  return {
    name: `triggers ${chainId} ${finality}`,
    retryMs: RETRY_MS,
    onError: (error) => log.error({ msg: 'Failed to notify owners that triggers are not evaluated', chainId, error }),
    async round() {
      // Lease of zero seconds, so a process that serves the chain can take over at once.
      const lease = await acquirePartition(db, { ...partition, leaseSec: 0 }, { holder })
      const messages = lease === undefined ? 0 : await notifyBlindTriggers(db, partition, lease)
      if (messages > 0)
        log.warn({ msg: 'Notified owners that triggers are not evaluated', chainId, messages: messages })
      return LOOK_MS
    },
  }
}
