import type { PinnedBlock } from '../../chain/block.ts'

/** Predicts when a chain's next block can be read. */
export interface BlockSchedule {
  /** Records the first read of a block at `nowMs`. */
  recordBlock(block: Pick<PinnedBlock, 'number' | 'timestampSec'>, nowMs: number): void
  /** Pause before the next read of the newest block, milliseconds. */
  pauseMs(nowMs: number): number
}

/** Polling interval for a due block: a twenty-fourth of the block time, within `LOOK_MS`. */
const LOOK_SHARE = 24
const LOOK_MS = { least: 100, most: 500 }
/** Assumed block time if unknown, milliseconds. */
const BLOCK_MS = 1_000
/** Weight of a new observation in the moving averages. */
const LEARN = 0.2
/** Maximum pause: chains with an unknown block time may pause for hours, and clocks may be wrong. */
const PAUSE_MS_MAX = 12_000
/** Share of the usual lateness after which polling starts, a little before the block usually appears. */
const EARLY = 0.9

/** Creates a schedule from the chain's usual block time, if known; it learns how late blocks can be read. */
export function createBlockSchedule(usualMs: number | undefined): BlockSchedule {
  let blockMs = usualMs
  let lateMs = 0
  let last: { readonly number: bigint; readonly atMs: number; readonly seenMs: number } | undefined

  return {
    recordBlock({ number, timestampSec }, nowMs) {
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
      // Whatever the clocks show, the next block comes one block time after this one.
      const dueMs = Math.min(last.atMs + EARLY * lateMs, last.seenMs) + each - nowMs
      return Math.max(look, Math.min(dueMs, PAUSE_MS_MAX))
    },
  }
}
