import type { Hex } from 'viem'
import { untilAborted } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import type { UnavailableError } from '../../lib/error.ts'
import { countBlocksIn, type Range } from '../range.ts'
import type { IncompleteError } from '../stream.ts'
import { createProgressEstimate } from './progress.ts'

/** A history that was asked for, and who waits for it. */
export type FollowEntry = ReturnType<typeof createFollowEntry>

/** Makes an entry that nobody waits for yet; a `subject` of null stands for everybody. */
export function createFollowEntry(subject: Hex | null, range: Range, clock: Clock) {
  /** What ends the wait of each who waits. */
  const waiting = new Set<(error: unknown) => void>()

  return {
    subject,
    /** What was asked for, at most; it ends at a final block. */
    range,
    pace: createProgressEstimate(clock, countBlocksIn([range])),
    askedMs: clock.monotonicMs(),
    /** Everybody who asked for it. */
    askers: new Set<string>(),
    /** True while a task works on it. */
    isBusy: false,
    /** True if two endpoints agreed on all of it when it was complete last. */
    isAgreed: false,
    /** Failures in a row. */
    failures: 0,
    /** The check that the last task failed at, as callers are told. */
    failure: undefined as UnavailableError | undefined,
    /** True if it is read without others, since a check of what was read together was wrong. */
    isApart: false,
    /** The failed check that has made its blocks be read again. */
    reread: undefined as IncompleteError | undefined,
    /** True while somebody waits for it. */
    get isAwaited(): boolean {
      return waiting.size > 0
    },
    /** Waits until the history is settled. Throws what it is settled with, `AbortedError` if `signal` fires first. */
    async settled(signal: AbortSignal): Promise<void> {
      let end: (error: unknown) => void = () => {}
      const settled = new Promise<void>((resolve, reject) => {
        end = (error) => (error === undefined ? resolve() : reject(error))
      })
      waiting.add(end)
      try {
        await untilAborted(settled, signal)
      } finally {
        waiting.delete(end)
      }
    },
    /** Tells all who wait that it is complete, or why not. */
    settle(error?: unknown): void {
      for (const end of waiting) end(error)
    },
  }
}

/** Has entries that were read together read apart, since nobody knows whose logs met a wrong check; false for only one. */
export function isolateEntries(entries: readonly FollowEntry[]): boolean {
  for (const entry of entries) entry.isApart = true
  return entries.length > 1
}
