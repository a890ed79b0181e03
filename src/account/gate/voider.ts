import type { Database } from '../../db/database.ts'
import type { Settlement } from '../../http/exchange/gate.ts'
import { createIdleWaiter } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import type { FailureTracker } from '../../lib/failure_tracker.ts'
import { type JobOptions, startJob } from '../../lib/job.ts'
import { type Log, type LogLevel, logThrottled } from '../../lib/log.ts'
import type { Journal } from './journal.ts'
import { voidBatch } from './settle.ts'

const BATCH_MAX = 512
const RETRY_MS = { least: 25, most: 250 }

/**
 * Voids the settlements in the journal as soon as the database answers, and maintains the journal, which adopts those
 * of dead processes.
 */
export function createVoider(options: {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** Opens the journal; called again until it succeeds. */
  readonly open: () => Promise<Journal>
  readonly tendMs: number
  readonly trouble: FailureTracker
  readonly jobs: JobOptions
}) {
  const { db, clock, log, open, tendMs, trouble, jobs } = options
  let journal: Journal | undefined
  let openingJournal: Promise<void> | undefined
  const size = () => journal?.size ?? 0
  const idle = createIdleWaiter(() => size() === 0)

  /** Resolves once the journal is open: no settlement may be sent before. Throws if it cannot be opened. */
  function ready(): Promise<void> {
    openingJournal ??= open().then(
      (opened) => {
        journal = opened
      },
      (error: unknown) => {
        openingJournal = undefined
        throw error
      },
    )
    return openingJournal
  }

  async function drain(signal: AbortSignal): Promise<void> {
    while (journal !== undefined && journal.size > 0 && !signal.aborted) {
      const batch = journal.peek(BATCH_MAX)
      const refused = await voidBatch(db, batch)
      for (const { settlementId } of refused) log.error({ msg: 'The database rejected a void', settlementId })
      await journal.drop(batch.length)
      log.info({ msg: 'Voided settlements with an unknown outcome', settlements: batch.length })
    }
  }

  function logFailure(level: LogLevel, msg: string, error: unknown): void {
    logThrottled(log, { level, kind: msg, clock }, { msg, error })
  }

  const voiding = startJob(
    {
      name: 'gate_void',
      retryMs: RETRY_MS,
      async round(signal) {
        try {
          await drain(signal)
          trouble.recordSuccess('void')
        } catch (error) {
          trouble.recordFailure('void', error)
          throw error
        } finally {
          idle.check()
        }
        return undefined
      },
      onError: (error) => logFailure('error', 'Failed to void settlements', error),
    },
    jobs,
  )
  const tending = startJob(
    {
      name: 'gate_journal',
      everyMs: tendMs,
      retryMs: { least: tendMs, most: tendMs },
      async round(signal) {
        await ready()
        if (!signal.aborted) await journal?.tend()
        voiding.wake()
        return undefined
      },
      onError: (error) => logFailure('warn', 'Cannot open the journal', error),
    },
    jobs,
  )
  return {
    get waiting(): number {
      return size()
    },
    /** True if the journal is full: then no settlement may be sent to the database. */
    get isFull(): boolean {
      return journal?.isFull === true
    },
    /** False while the waiting settlements would be lost with this process. */
    get isDurable(): boolean {
      return journal?.isDurable !== false
    },
    ready,
    /** Queues settlements with an unknown outcome; resolves once they are durable, so that the answer may be sent. */
    async add(settlements: readonly Settlement[]): Promise<void> {
      await ready()
      await journal?.append(settlements)
      voiding.wake()
    },
    idle: idle.wait,
    stop(): void {
      voiding.stop()
      tending.stop()
    },
    /** Closes the journal; waiting settlements stay in it for other processes. */
    async close(): Promise<void> {
      await journal?.close()
    },
  }
}
