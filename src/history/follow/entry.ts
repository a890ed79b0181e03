import type { Hex } from 'viem'
import { untilAborted } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import type { UnavailableError } from '../../lib/error.ts'
import { blocksIn, type Range } from '../range.ts'
import type { IncompleteError } from '../stream.ts'
import { createPace, type Pace } from './pace.ts'

/** A history that was asked for, and who waits for it. */
export interface FollowEntry {
  /** Null: everybody. */
  readonly subject: Hex | null
  /** What was asked for, at most; it ends at a final block. */
  range: Range
  readonly pace: Pace
  /** Everybody who asked for it. */
  readonly askers: Set<string>
  askedMs: number
  /** True while a task works on it. */
  isBusy: boolean
  /** True if two endpoints agreed on all of it when it was complete last. */
  isAgreed: boolean
  /** Failures in a row. */
  failures: number
  /** The check that the last task failed at, as callers are told. */
  failure: UnavailableError | undefined
  /** True if it is read without others, since a check of what was read together was wrong. */
  isApart: boolean
  /** The failed check that has made its blocks be read again. */
  reread: IncompleteError | undefined
  /** True while somebody waits for it. */
  readonly isAwaited: boolean
  /** Waits until the history is settled. Throws what it is settled with, `AbortedError` if `signal` fires first. */
  settled(signal: AbortSignal): Promise<void>
  /** Tells all who wait that it is complete, or why not. */
  settle(error?: unknown): void
}

/** Makes an entry that nobody waits for yet. */
export function createFollowEntry(subject: Hex | null, range: Range, clock: Clock): FollowEntry {
  /** What ends the wait of each who waits. */
  const waiting = new Set<(error: unknown) => void>()

  return {
    subject,
    range,
    pace: createPace(clock, blocksIn([range])),
    askedMs: clock.monotonicMs(),
    askers: new Set<string>(),
    isBusy: false,
    isAgreed: false,
    failures: 0,
    failure: undefined,
    isApart: false,
    reread: undefined,
    get isAwaited() {
      return waiting.size > 0
    },
    async settled(signal) {
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
    settle(error) {
      for (const end of waiting) end(error)
    },
  }
}

/** Has entries that were read together read apart, since nobody knows whose logs met a wrong check; false for only one. */
export function readApart(entries: readonly FollowEntry[]): boolean {
  for (const entry of entries) entry.isApart = true
  return entries.length > 1
}
