import type { Clock } from '../../lib/clock.ts'

/** How far the work on one history is, and how fast it goes. */
export interface Pace {
  /** Notes that so many blocks are left of so many. */
  left(blocks: number, of: number): void
  /** Notes that so many blocks were stored since. */
  stored(blocks: number): void
  /** Blocks that are left. */
  readonly blocks: number
  /** Of all blocks, 0 to 100, rounded down. */
  readonly percent: number
  /** Seconds until the rest is done if it goes on like this; undefined if nothing was done yet. */
  readonly seconds: number | undefined
}

/** Starts to measure; until it is known how many blocks are left, all of `wanted` count as missing. */
export function createPace(clock: Clock, wanted: number): Pace {
  let start: { readonly blocks: number; readonly atMs: number } | undefined
  let blocks = wanted
  let all = Math.max(1, wanted)

  return {
    left(now, of) {
      start ??= { blocks: now, atMs: clock.monotonicMs() }
      blocks = now
      all = Math.max(1, of)
    },
    stored(more) {
      blocks = Math.max(0, blocks - more)
    },
    get blocks() {
      return blocks
    },
    get percent() {
      return Math.floor((100 * (all - blocks)) / all)
    },
    get seconds() {
      if (start === undefined || start.blocks <= blocks) return undefined
      return (blocks * (clock.monotonicMs() - start.atMs)) / (start.blocks - blocks) / 1_000
    },
  }
}
