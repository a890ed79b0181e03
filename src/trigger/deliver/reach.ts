import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { DueMessage } from './queue.ts'

const PAUSE_MS = { least: 5_000, most: 60_000 }
/** After a pause so few messages are taken at once until a receiver answers. */
const TRIAL_MESSAGES = 8
/** How old another process' answer may be to count against this process. */
const EVIDENCE_MS = 300_000
/** Messages that were returned are remembered, so that the second failure of each counts. */
const RETURNED_MAX = 10_000

/**
 * Judges whether a post without an answer failed for a reason of this process, such as its network or its settings: if
 * the receiver answered another process after any receiver last answered this one. Such a message is returned without a
 * counted attempt, once, and this process pauses, so that others take the messages. All times are of the database's
 * clock.
 */
export function createReach({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const returned = new Set<string>()
  let answeredAtMs: number | undefined
  let pauseMs = 0
  let pausedUntilMs = 0

  return {
    /** How many of `free` messages may be taken now. */
    limit(free: number): number {
      if (pauseMs === 0) return free
      return clock.monotonicMs() < pausedUntilMs ? 0 : Math.min(free, TRIAL_MESSAGES)
    },
    /** Called with the time of each claim: what others achieved before this process began says nothing about it. */
    recordClaim(nowMs: number): void {
      answeredAtMs ??= nowMs
    },
    /** Called after an answer was recorded. */
    recordAnswer(nowMs: number): void {
      answeredAtMs = Math.max(answeredAtMs ?? 0, nowMs)
      pauseMs = 0
    },
    /** True if the failure of this message is the process's own; it then pauses. */
    isOwnFailure({ id, answeredAtMs: otherMs }: DueMessage, nowMs: number): boolean {
      if (otherMs <= (answeredAtMs ?? nowMs) || otherMs < nowMs - EVIDENCE_MS || returned.has(id)) return false
      if (returned.size >= RETURNED_MAX) returned.clear()
      returned.add(id)
      // Messages that were taken together fail together.
      if (clock.monotonicMs() >= pausedUntilMs) {
        pauseMs = Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, 2 * pauseMs))
        pausedUntilMs = clock.monotonicMs() + pauseMs
        log.warn({ msg: 'Paused deliveries: receivers that answer other processes do not answer this one', pauseMs })
      }
      return true
    },
  }
}
