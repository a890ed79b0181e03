import type { Database } from '../../db/database.ts'
import type { Job } from '../../lib/job.ts'
import type { Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { AttemptRecorder } from './deliver.ts'
import { countDueMessages, type QueueReport } from './queue.ts'

const EVERY_MS = 15_000

/** Registers the metrics of deliveries; `job` updates the metrics of due messages. */
export function createDeliveryMetrics(
  metrics: Metrics,
  { db, log }: { readonly db: Database; readonly log: Log },
): { readonly onAttempt: AttemptRecorder; readonly job: Job } {
  let report: QueueReport = { due: 0, oldestSec: 0 }
  const tries = metrics.counter({
    name: 'walletscope_message_tries_total',
    help: 'Attempts to post messages of triggers, by outcome: delivered, refused by the receiver, returned to other processes, or why no answer came.',
    labels: ['outcome'],
  })
  metrics.gauge({
    name: 'walletscope_messages_due',
    help: 'Messages that are due and not delivered yet, of all processes.',
    aggregation: 'most',
    read: () => report.due,
  })
  metrics.gauge({
    name: 'walletscope_message_due_oldest_seconds',
    help: 'How long the oldest due message has been due.',
    aggregation: 'most',
    read: () => report.oldestSec,
  })
  return {
    onAttempt: (outcome) => tries(outcome).add(1),
    job: {
      name: 'deliveries due',
      everyMs: EVERY_MS,
      retryMs: { least: EVERY_MS, most: EVERY_MS },
      async round() {
        report = await countDueMessages(db)
        return undefined
      },
      onError: (error) => log.error({ msg: 'Failed to count due messages', error }),
    },
  }
}
