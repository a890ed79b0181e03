import type { Database } from '../../db/database.ts'
import type { Settlement } from '../../http/exchange/gate.ts'
import { createIdle } from '../../lib/async/wait.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { Log } from '../../lib/log.ts'
import type { Journal } from './journal.ts'
import { voidBatch } from './settle.ts'

/** Voids the settlements in the journal as soon as the database answers, and tends the journal. */
interface Voider {
  /** Settlements whose void waits. */
  readonly waiting: number
  /** True if no more can wait: then nothing that might need a void may be sent to the database. */
  readonly full: boolean
  /** False while the waiting settlements would be lost with this process. */
  readonly durable: boolean
  /**
   * Resolves once the journal is open: nothing that might need a void may be sent before. Throws if it does not open.
   */
  ready(): Promise<void>
  /** Keeps settlements with an unknown outcome; resolves once that is durable, so that the answer may leave. */
  add(settlements: readonly Settlement[]): Promise<void>
  /** Resolves when nothing waits. */
  idle(): Promise<void>
  /** Starts nothing more. */
  stop(): void
  /** Closes the journal; what waits stays in it for other processes. */
  close(): Promise<void>
}

const BATCH_MAX = 512
const BACKOFF_MIN_MS = 25
const BACKOFF_MAX_MS = 250

/** Makes a voider; it begins with what dead processes left. */
export function createVoider(options: {
  readonly db: Database
  readonly log: Log
  /** Opens the journal; called again until it succeeds. */
  readonly open: () => Promise<Journal>
  /** How often the journal is tended. */
  readonly tendMs: number
}): Voider {
  const { db, log, open, tendMs } = options
  let journal: Journal | undefined
  let opening: Promise<void> | undefined
  let stopped = false
  let running = false
  let backoffMs = BACKOFF_MIN_MS
  let timer: ReturnType<typeof setTimeout> | undefined
  const size = () => journal?.size ?? 0
  const idle = createIdle(() => size() === 0)

  function ready(): Promise<void> {
    opening ??= open().then(
      (opened) => {
        journal = opened
      },
      (error: unknown) => {
        opening = undefined
        throw error
      },
    )
    return opening
  }

  async function drain(): Promise<void> {
    if (running || stopped || journal === undefined) return
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
    idle.check()
  }

  function pause(): Promise<void> {
    return new Promise((resolve) => {
      timer = setTimeout(resolve, backoffMs)
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS)
    })
  }

  async function tend(): Promise<void> {
    try {
      await ready()
      if (!stopped) await journal?.tend()
      void drain()
    } catch (error) {
      if (!(error instanceof UnavailableError)) log.warn({ msg: 'Cannot open the journal', error })
    }
    if (!stopped) tending = setTimeout(tend, tendMs)
    tending?.unref()
  }

  let tending: ReturnType<typeof setTimeout> | undefined
  void tend()
  return {
    get waiting() {
      return size()
    },
    get full() {
      return journal?.full === true
    },
    get durable() {
      return journal?.durable !== false
    },
    ready,
    async add(settlements) {
      await ready()
      await journal?.append(settlements)
      void drain()
    },
    idle: idle.wait,
    stop() {
      stopped = true
      timer?.unref()
      clearTimeout(tending)
    },
    async close() {
      await journal?.close()
    },
  }
}
