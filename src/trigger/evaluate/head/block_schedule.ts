import type { PinnedBlock } from '../../../chain/block.ts'

/** Knows about when a chain's next block can be read. */
export interface BlockSchedule {
  /** A block was read, at this moment for the first time. */
  seen(block: Pick<PinnedBlock, 'number' | 'timestampSec'>, nowMs: number): void
  /** How long to wait before the newest block is asked for, milliseconds. */
  pauseMs(nowMs: number): number
}

/** Between two looks for a block that is due: a twenty-fourth of the time between blocks, but no less and no more. */
const LOOK_SHARE = 24
const LOOK_MS = { least: 100, most: 500 }
/** Without any knowledge. */
const BLOCK_MS = 1_000
/** Share of a new observation in what is learned. */
const LEARN = 0.2
/** Chains of which nobody knows the time between blocks may rest for hours, and clocks be wrong. */
const PAUSE_MS_MAX = 12_000
/** It looks a little before the block is usually there. */
const EARLY = 0.9

/** Starts with the chain's usual time between blocks, if that is known, and learns how late blocks can be read. */
export function createBlockSchedule(usualMs: number | undefined): BlockSchedule {
  let blockMs = usualMs
  let lateMs = 0
  let last: { readonly number: bigint; readonly atMs: number; readonly seenMs: number } | undefined

  return {
    seen({ number, timestampSec }, nowMs) {
      const atMs = Number(timestampSec) * 1_000
      if (last !== undefined && number > last.number) {
        const perBlock = (atMs - last.atMs) / Number(number - last.number)
        if (usualMs === undefined) blockMs = blockMs === undefined ? perBlock : blockMs + LEARN * (perBlock - blockMs)
        lateMs += LEARN * (Math.min(PAUSE_MS_MAX, Math.max(0, nowMs - atMs)) - lateMs)
      } else if (last === undefined) lateMs = 0
      last = { number, atMs, seenMs: nowMs }
    },
    pauseMs(nowMs) {
      const each = blockMs ?? BLOCK_MS
      const look = Math.min(LOOK_MS.most, Math.max(LOOK_MS.least, each / LOOK_SHARE))
      if (last === undefined) return look
      // Whatever the clocks say, the next one comes so long after this one.
      const dueMs = Math.min(last.atMs + EARLY * lateMs, last.seenMs) + each - nowMs
      return Math.max(look, Math.min(dueMs, PAUSE_MS_MAX))
    },
  }
}
