import { untilAborted } from '../../../lib/async/abort.ts'
import { createFairQueue } from '../../../lib/async/fair_queue.ts'
import { createWork, limitWork, type Requesters, type Work } from '../../../lib/async/work.ts'
import type { Clock } from '../../../lib/clock.ts'
import { AbortedError, PendingError } from '../../../lib/error.ts'
import {
  getPositionKey,
  type PositionHistory,
  type PositionHistoryQuery,
  type PositionHistoryReader,
} from './reader.ts'

/** A history, or `pending` until it is read, or `failed`. */
type TimedHistory = PositionHistory | 'pending' | 'failed'

/** Reads histories within a time limit. */
export interface TimedHistories<Query extends PositionHistoryQuery = PositionHistoryQuery> {
  /**
   * Reads histories in the order of the queries, within two seconds. Those that take longer are read in the background
   * for a later answer. Throws `AbortedError` if `work` ends, and then starts no background read.
   */
  read(queries: readonly Query[], limits: WaitLimits): Promise<TimedHistory[]>
}

export interface WaitLimits {
  readonly work: Work
  /** Deadline of the request, milliseconds of the monotonic clock. */
  readonly untilMs: number
}

/** How long an answer waits for histories, and how long presenting it takes afterwards, milliseconds. */
const WAIT_MS = 2_000
const SHOW_MS = 250
/** Histories that one answer reads at the same time. */
const CONCURRENCY_MAX = 25
/** Time limit of a background read, most at the same time, and most queued per requester. */
const BACKGROUND_MS = 30_000
const BACKGROUND_CONCURRENCY_MAX = 2
const QUEUE_MAX = 200

/** A history to be read in the background, and its requesters. */
interface QueuedHistory<Query> {
  readonly key: string
  readonly query: Query
  readonly requesters: Requesters
}

/** Creates timed histories over a reader. */
export function createTimedHistories<Query extends PositionHistoryQuery>(options: {
  readonly histories: PositionHistoryReader<Query>
  readonly clock: Clock
}): TimedHistories<Query> {
  const { histories, clock } = options
  const queue = createFairQueue<QueuedHistory<Query>>()
  const queued = new Set<string>()
  let workers = 0

  async function work(): Promise<void> {
    workers++
    for (let next = queue.next(); next !== undefined; next = queue.next()) {
      queued.delete(next.key)
      await readWithin(next.query, createWork(clock.timeout(BACKGROUND_MS), { requesters: next.requesters }))
    }
    workers--
  }

  function queueInBackground(query: Query, requesters: Requesters): void {
    const key = getPositionKey(query)
    const [requester = ''] = requesters
    if (!queued.has(key) && queue.countItems(requester) < QUEUE_MAX) {
      queued.add(key)
      queue.add(requester, { key, query, requesters })
    }
    if (workers < BACKGROUND_CONCURRENCY_MAX) void work()
  }

  async function readWithin(query: Query, work: Work): Promise<TimedHistory> {
    try {
      const history = await untilAborted(histories.read(query, work), work.signal)
      if (history === undefined) return 'failed'
      // History that ends earlier does not cover this block.
      return history.end.number < (query.block ?? 0n) ? 'pending' : history
    } catch (error) {
      return work.signal.aborted || error instanceof PendingError ? 'pending' : 'failed'
    }
  }

  return {
    async read(queries, { work, untilMs }) {
      const waitMs = Math.min(WAIT_MS, untilMs - SHOW_MS - clock.monotonicMs())
      const limited = limitWork(work, clock.timeout(waitMs))
      const outcomes: TimedHistory[] = []
      const remaining = queries.entries()
      async function readRemaining(): Promise<void> {
        for (const [index, query] of remaining) {
          outcomes[index] = limited.signal.aborted ? 'pending' : await readWithin(query, limited)
        }
      }
      await Promise.all(Array.from({ length: CONCURRENCY_MAX }, readRemaining))
      if (work.signal.aborted) throw new AbortedError('The caller left')
      for (const [index, query] of queries.entries())
        if (outcomes[index] === 'pending') queueInBackground(query, work.requesters)
      return outcomes
    },
  }
}
