import type { Database } from '../db/database.ts'
import type { Settlement } from '../http/plane/gate.ts'
import { UnavailableError } from '../lib/error.ts'
import type { Log } from '../lib/log.ts'
import type { Journal } from './journal.ts'
import { voidBatch } from './settle.ts'

/** Voids what the journal holds, as soon as the database lets it. */
export interface Voider {
  /** Remembers settlements with an unknown outcome; resolves once that is durable, so that the answer may leave. */
  add(settlements: readonly Settlement[]): Promise<void>
  /** Resolves when the journal is empty. */
  idle(): Promise<void>
  /** Starts nothing more. */
  stop(): void
}

const BATCH_MAX = 512
const BACKOFF_MIN_MS = 25
const BACKOFF_MAX_MS = 250

/** Makes a voider and begins with what an earlier process left behind. */
export function createVoider(options: { readonly db: Database; readonly journal: Journal; readonly log: Log }): Voider {
  const { db, journal, log } = options
  const idlers: (() => void)[] = []
  let stopped = false
  let running = false
  let backoffMs = BACKOFF_MIN_MS
  let timer: ReturnType<typeof setTimeout> | undefined

  async function drain(): Promise<void> {
    if (running || stopped) return
    running = true
    while (journal.size > 0 && !stopped) {
      const batch = journal.peek(BATCH_MAX)
      try {
        const refused = await voidBatch(db, batch)
        for (const { settlementId } of refused) log.error({ msg: 'The database refused a void', settlementId })
        await journal.drop(batch.length)
        backoffMs = BACKOFF_MIN_MS
        log.info({ msg: 'Voided settlements with an unknown outcome', settlements: batch.length })
      } catch (error) {
        if (!(error instanceof UnavailableError)) log.error({ msg: 'Could not void settlements', error })
        await pause()
      }
    }
    running = false
    if (journal.size === 0) for (const wake of idlers.splice(0)) wake()
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      timer = setTimeout(resolve, backoffMs)
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
    })
  }

  void drain()
  return {
    async add(settlements) {
      await journal.append(settlements)
      void drain()
    },
    idle: () => (journal.size === 0 ? Promise.resolve() : new Promise((resolve) => idlers.push(resolve))),
    stop() {
      stopped = true
      timer?.unref()
    },
  }
}
