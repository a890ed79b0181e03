import { timeoutSignal, untilAborted } from '../../../lib/async/abort.ts'
import { createFairQueue } from '../../../lib/async/fair_queue.ts'
import { getRequesters, type Requesters, withRequesters } from '../../../lib/async/requesters.ts'
import type { Clock } from '../../../lib/clock.ts'
import { AbortedError, PendingError } from '../../../lib/error.ts'
import {
  getPositionKey,
  type PositionHistory,
  type PositionHistoryQuery,
  type PositionHistoryReader,
} from './reader.ts'

/** A life; or that it is not read yet, or that it cannot be. */
export type TimedHistory = PositionHistory | 'pending' | 'failed'

/** Lives for answers that wait for them a little. */
export interface TimedHistories<Question extends PositionHistoryQuery = PositionHistoryQuery> {
  /**
   * Lives in the order of the questions, within two seconds. Those that take longer are then read in the background, so
   * that a later answer may have them. Throws `AbortedError` if `signal` fires, and then leaves them.
   */
  read(questions: readonly Question[], within: WaitLimits): Promise<TimedHistory[]>
}

export interface WaitLimits {
  readonly signal: AbortSignal
  /** When its request has no time left, milliseconds of the monotonic clock. */
  readonly untilMs: number
}

/** How long an answer waits for lives, milliseconds, and what it needs afterwards to be shown. */
const WAIT_MS = 2_000
const SHOW_MS = 250
/** Lives that one answer reads at the same time. */
const AT_ONCE = 8
/** Time for a life in the background; how many at the same time, and how many of one asker wait. */
const BACKGROUND_MS = 30_000
const BACKGROUND_AT_ONCE = 2
const QUEUE_MAX = 200

/** A life that is to be read in the background, and for whom. */
interface QueuedHistory<Question> {
  readonly key: string
  readonly question: Question
  readonly askers: Requesters
}

/** Makes it over a reader. */
export function createTimedHistories<Question extends PositionHistoryQuery>(options: {
  readonly lives: PositionHistoryReader<Question>
  readonly clock: Clock
}): TimedHistories<Question> {
  const { lives, clock } = options
  const queue = createFairQueue<QueuedHistory<Question>>()
  const queued = new Set<string>()
  let working = 0

  async function work(): Promise<void> {
    working++
    for (let next = queue.next(); next !== undefined; next = queue.next()) {
      queued.delete(next.key)
      await readWithin(next.question, withRequesters(next.askers, timeoutSignal(BACKGROUND_MS)))
    }
    working--
  }

  function goOn(question: Question, askers: Requesters): void {
    const key = getPositionKey(question)
    const [asker = ''] = askers
    if (!queued.has(key) && queue.sizeOf(asker) < QUEUE_MAX) {
      queued.add(key)
      queue.add(asker, { key, question, askers })
    }
    if (working < BACKGROUND_AT_ONCE) void work()
  }

  async function readWithin(question: Question, signal: AbortSignal): Promise<TimedHistory> {
    try {
      const life = await untilAborted(lives.read(question, signal), signal)
      if (life === undefined) return 'failed'
      // History that ends earlier tells nothing about this block.
      return life.end.number < (question.block ?? 0n) ? 'pending' : life
    } catch (error) {
      return signal.aborted || error instanceof PendingError ? 'pending' : 'failed'
    }
  }

  return {
    async read(questions, { signal, untilMs }) {
      const waitMs = Math.min(WAIT_MS, untilMs - SHOW_MS - clock.monotonicMs())
      const askers = getRequesters(signal)
      const patience = withRequesters(askers, AbortSignal.any([signal, timeoutSignal(waitMs)]))
      const outcomes: TimedHistory[] = []
      const rest = questions.entries()
      async function readRest(): Promise<void> {
        for (const [index, question] of rest) {
          outcomes[index] = patience.aborted ? 'pending' : await readWithin(question, patience)
        }
      }
      await Promise.all(Array.from({ length: AT_ONCE }, readRest))
      if (signal.aborted) throw new AbortedError('The caller left')
      for (const [index, question] of questions.entries()) if (outcomes[index] === 'pending') goOn(question, askers)
      return outcomes
    },
  }
}
