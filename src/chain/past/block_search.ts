import type { PastBlock } from '../rpc/client.ts'

/** Two blocks with a moment between them: `before` is at or before it, undefined if no such block is known yet. */
export interface Bracket<B extends PastBlock> {
  readonly before: B | undefined
  /** Later than the moment. */
  readonly after: B
}

/** Every fourth probe bisects, so that uneven block times cannot make the search slow. */
const BISECT_EVERY = 4
/** Extrapolation overshoots by this fraction, so that the next probe likely lands before the moment. */
const OVERSHOOT_DIVISOR = 200n

/**
 * Computes the next height to read in a search for the last block at or before a moment: by interpolation between both
 * blocks, else by the block time (milliseconds; undefined if unknown). Undefined when the search is over: `before` is
 * then the result, or, if it is undefined too, the chain began later. Times never decrease with height, and several
 * blocks may share one.
 */
export function nextProbe(
  { before, after }: Bracket<PastBlock>,
  {
    timeSec,
    blockTimeMs,
    probes,
  }: { readonly timeSec: bigint; readonly blockTimeMs: number | undefined; readonly probes: number },
): bigint | undefined {
  if (before === undefined) {
    if (after.number === 0n) return undefined
    if (blockTimeMs === undefined || probes >= BISECT_EVERY) return 0n
    const back = ((after.timestampSec - timeSec) * 1_000n) / BigInt(blockTimeMs)
    return clamp(after.number - back - back / OVERSHOOT_DIVISOR - 1n, { min: 0n, max: after.number - 1n })
  }
  const blocks = after.number - before.number
  if (blocks <= 1n) return undefined
  const limits = { min: before.number + 1n, max: after.number - 1n }
  if (probes % BISECT_EVERY === BISECT_EVERY - 1) return clamp(before.number + blocks / 2n, limits)
  const spanSec = after.timestampSec - before.timestampSec
  // Rounding to the nearest block keeps an estimate that is half a block off on one of the two blocks searched for.
  const share = (2n * blocks * (timeSec - before.timestampSec) + spanSec) / (2n * spanSec)
  return clamp(before.number + share, limits)
}

/** Finds the two blocks around a moment in an ascending list; undefined if no block is later. */
export function findBracket<B extends PastBlock>(blocks: readonly B[], timeSec: bigint): Bracket<B> | undefined {
  const index = countBlocksUntil(blocks, timeSec)
  const after = blocks[index]
  return after && { before: blocks[index - 1], after }
}

/** Counts the blocks of an ascending list that are at or before a moment. */
export function countBlocksUntil(blocks: readonly PastBlock[], timeSec: bigint): number {
  let [from, to] = [0, blocks.length]
  while (from < to) {
    const middle = Math.floor((from + to) / 2)
    const block = blocks[middle]
    if (block !== undefined && block.timestampSec <= timeSec) from = middle + 1
    else to = middle
  }
  return from
}

function clamp(value: bigint, { min, max }: { readonly min: bigint; readonly max: bigint }): bigint {
  return value < min ? min : value > max ? max : value
}
