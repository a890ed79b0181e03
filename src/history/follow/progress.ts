import type { Clock } from '../../lib/clock.ts'

/** How far the work on one history is, and how fast it goes. */
export type ProgressEstimate = ReturnType<typeof createProgressEstimate>

/** Starts to measure; until it is known how many blocks are left, all of `wanted` count as missing. */
export function createProgressEstimate(clock: Clock, wanted: number) {
  let start: { readonly blocks: number; readonly atMs: number } | undefined
  let blocks = wanted
  let all = Math.max(1, wanted)

  return {
    /** Notes that so many blocks are left of so many. */
    left(now: number, of: number): void {
      start ??= { blocks: now, atMs: clock.monotonicMs() }
      blocks = now
      all = Math.max(1, of)
    },
    /** Notes that so many blocks were stored since. */
    stored(more: number): void {
      blocks = Math.max(0, blocks - more)
    },
    /** Blocks that are left. */
    get blocks(): number {
      return blocks
    },
    /** Of all blocks, 0 to 100, rounded down. */
    get percent(): number {
      return Math.floor((100 * (all - blocks)) / all)
    },
    /** Seconds until the rest is done if it goes on like this; undefined if nothing was done yet. */
    get seconds(): number | undefined {
      if (start === undefined || start.blocks <= blocks) return undefined
      return (blocks * (clock.monotonicMs() - start.atMs)) / (start.blocks - blocks) / 1_000
    },
  }
}
