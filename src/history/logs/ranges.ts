import type { Range } from './window.ts'

/** The parts of `range` that lie in none of the others, the newest first. The others come in any order. */
export function missingOf(range: Range, others: readonly Range[]): readonly Range[] {
  const missing: Range[] = []
  let toBlock = range.toBlock
  for (const other of [...others].sort((a, b) => b.toBlock - a.toBlock)) {
    if (other.fromBlock > toBlock) continue
    if (other.toBlock < range.fromBlock) break
    if (other.toBlock < toBlock) missing.push({ fromBlock: other.toBlock + 1, toBlock })
    toBlock = other.fromBlock - 1
  }
  if (toBlock >= range.fromBlock) missing.push({ fromBlock: range.fromBlock, toBlock })
  return missing
}

/** Number of blocks in ranges that lie apart. */
export function blocksIn(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { fromBlock, toBlock }) => sum + toBlock - fromBlock + 1, 0)
}
