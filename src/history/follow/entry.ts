import type { Hex } from 'viem'
import { untilAborted } from '../../lib/async/abort.ts'
import type { Clock } from '../../lib/clock.ts'
import type { UnavailableError } from '../../lib/error.ts'
import { countBlocksIn, type Range } from '../range.ts'
import type { IncompleteError } from '../stream.ts'

/** A requested history, and the requests that wait for it. */
export type FollowEntry = ReturnType<typeof createFollowEntry>

/** Creates an entry without waiting requests; a `subject` of null is the global history. */
export function createFollowEntry(subject: Hex | null, range: Range, clock: Clock) {
  /** The callbacks that end each wait. */
  const waiters = new Set<(error: unknown) => void>()

  return {
    subject,
    /** The widest requested range; it ends at a final block. */
    range,
    progress: createProgressEstimate(clock, countBlocksIn([range])),
    requestedMs: clock.monotonicMs(),
    /** All requesters of the history. */
    requesters: new Set<string>(),
    /** True while a task works on the entry. */
    isBusy: false,
    /** True if two endpoints agreed on all of it when it was last complete. */
    isAgreed: false,
    /** Consecutive failures. */
    failures: 0,
    /** The failed check of the last task, as the error for callers. */
    failure: undefined as UnavailableError | undefined,
    /** True if the entry is read separately, after a check failed over entries that were read together. */
    isIsolated: false,
    /** The failed check that caused a reread of its blocks. */
    rereadCause: undefined as IncompleteError | undefined,
    /** True while a request waits for it. */
    get isAwaited(): boolean {
      return waiters.size > 0
    },
    /** Waits until the entry is settled. Throws its error, or `AbortedError` if `signal` fires first. */
    async waitUntilSettled(signal: AbortSignal): Promise<void> {
      let finish: (error: unknown) => void = () => {}
      const settledPromise = new Promise<void>((resolve, reject) => {
        finish = (error) => (error === undefined ? resolve() : reject(error))
      })
      waiters.add(finish)
      try {
        await untilAborted(settledPromise, signal)
      } finally {
        waiters.delete(finish)
      }
    },
    /** Ends all waits: with success, or with an error. */
    settle(error?: unknown): void {
      for (const finish of waiters) finish(error)
    },
  }
}

/** After a failed check, marks the entries for separate reads to find the cause; false if there is only one. */
export function isolateEntries(entries: readonly FollowEntry[]): boolean {
  for (const entry of entries) entry.isIsolated = true
  return entries.length > 1
}

/** Progress and speed of the work on one history. */
export type ProgressEstimate = ReturnType<typeof createProgressEstimate>

/** Starts to measure; all of `initialBlocks` count as missing until `setBlocksLeft` is called. */
function createProgressEstimate(clock: Clock, initialBlocks: number) {
  let start: { readonly blocks: number; readonly atMs: number } | undefined
  let blocks = initialBlocks
  let allBlocks = Math.max(1, initialBlocks)

  return {
    /** Sets the remaining and the total number of blocks. */
    setBlocksLeft(blocksLeft: number, totalBlocks: number): void {
      start ??= { blocks: blocksLeft, atMs: clock.monotonicMs() }
      blocks = blocksLeft
      allBlocks = Math.max(1, totalBlocks)
    },
    /** Subtracts blocks that were stored since. */
    addStored(storedBlocks: number): void {
      blocks = Math.max(0, blocks - storedBlocks)
    },
    /** Remaining blocks. */
    get blocks(): number {
      return blocks
    },
    /** Finished share of all blocks, 0 to 100, rounded down. */
    get percent(): number {
      return Math.floor((100 * (allBlocks - blocks)) / allBlocks)
    },
    /** Estimated seconds until completion at the measured speed; undefined before the first stored block. */
    get seconds(): number | undefined {
      if (start === undefined || start.blocks <= blocks) return undefined
      return (blocks * (clock.monotonicMs() - start.atMs)) / (start.blocks - blocks) / 1_000
    },
  }
}
