/** A range of blocks, both ends inclusive. */
export interface Range {
  readonly fromBlock: number
  readonly toBlock: number
}

/**
 * Divides a range into pieces of at most `blocks`, newest first. With `shift` the edges lie half a piece lower, so that
 * an error at the edge of one division falls into the middle of the other.
 */
export function splitRange({ fromBlock, toBlock }: Range, blocks: number, shift: boolean): readonly Range[] {
  const pieces: Range[] = []
  let size = shift ? Math.ceil(blocks / 2) : blocks
  for (let last = toBlock; last >= fromBlock; last -= size, size = blocks) {
    pieces.push({ fromBlock: Math.max(fromBlock, last - size + 1), toBlock: last })
  }
  return pieces
}

/** Number of blocks of a range. */
export function countBlocks({ fromBlock, toBlock }: Range): number {
  return toBlock - fromBlock + 1
}

/** Divides a range into its newest `blocks` blocks and the older ones, which may be an empty range. */
export function splitNewest({ fromBlock, toBlock }: Range, blocks: number): readonly [older: Range, newest: Range] {
  const from = toBlock - blocks + 1
  return [
    { fromBlock, toBlock: from - 1 },
    { fromBlock: from, toBlock },
  ]
}

/** The parts of `range` outside all `excluded` ranges, newest first. `excluded` may have any order. */
export function subtractRanges(range: Range, excluded: readonly Range[]): readonly Range[] {
  const missing: Range[] = []
  let toBlock = range.toBlock
  for (const other of [...excluded].sort((a, b) => b.toBlock - a.toBlock)) {
    if (other.fromBlock > toBlock) continue
    if (other.toBlock < range.fromBlock) break
    if (other.toBlock < toBlock) missing.push({ fromBlock: other.toBlock + 1, toBlock })
    toBlock = other.fromBlock - 1
  }
  if (toBlock >= range.fromBlock) missing.push({ fromBlock: range.fromBlock, toBlock })
  return missing
}

/** Number of blocks in disjoint ranges. */
export function countBlocksIn(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { fromBlock, toBlock }) => sum + toBlock - fromBlock + 1, 0)
}
