import type { Clock } from '../../lib/clock.ts'

/** Progress and speed of the work on one history. */
export type ProgressEstimate = ReturnType<typeof createProgressEstimate>

/** Starts to measure; all of `initialBlocks` count as missing until `setBlocksLeft` is called. */
export function createProgressEstimate(clock: Clock, initialBlocks: number) {
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
