import { type Hex, toEventSelector } from 'viem'
import type { Range } from '../../../../history/range.ts'
import type { HistoryLog, LogFilter } from '../../../../history/stream.ts'

/** Bounds on the block of a mint: a manager numbers its positions in the order of their mints. */
export interface MintBracket {
  readonly tokenId: bigint
  /** The mint is in one of the blocks `from` to `to`, both included; if `from` is higher, there is none. */
  readonly from: number
  readonly to: number
  /** The nearest known mints before and after. */
  readonly below?: Mint | undefined
  readonly above?: Mint | undefined
  /** Blocks between `from` and `to` without any mint; they do not show on which side the mint is. */
  readonly empty?: { readonly from: number; readonly to: number }
}

export interface Mint {
  readonly tokenId: bigint
  readonly block: number
}

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const FROM_ZERO: Hex = `0x${'0'.repeat(64)}`
/** Every so many probes bisect: interpolation alone creeps where ids are dense. */
const BISECT_EVERY = 3

/** Creates a filter of a manager's mints. */
export function mintFilter(manager: Hex): LogFilter {
  return { addresses: [manager], topics: [[TRANSFER], [FROM_ZERO]] }
}

/** Decodes mints from the filter's logs, in their order. */
export function decodeMints(logs: readonly HistoryLog[]): Mint[] {
  return logs.flatMap(({ topics: [, , , id], blockNumber }) =>
    id === undefined ? [] : [{ tokenId: BigInt(id), block: blockNumber }],
  )
}

/** Computes the next window of `blocks` blocks to read, after `probes` windows. */
export function nextWindow(
  { tokenId, from, to, below, above, empty }: MintBracket,
  { blocks, probes }: { readonly blocks: number; readonly probes: number },
): Range {
  if (empty !== undefined && empty.to < to) {
    return { fromBlock: empty.to + 1, toBlock: Math.min(to, empty.to + blocks) }
  }
  const canInterpolate = below !== undefined && above !== undefined && probes % BISECT_EVERY !== BISECT_EVERY - 1
  const share = canInterpolate ? Number(tokenId - below.tokenId) / Number(above.tokenId - below.tokenId) : 0.5
  const middle = from + Math.floor((to - from) * share)
  const fromBlock = Math.max(from, Math.min(middle - Math.floor(blocks / 2), to - blocks + 1))
  return { fromBlock, toBlock: Math.min(to, fromBlock + blocks - 1) }
}

/**
 * Narrows the bracket by all mints of a window; returns the mint's block once it is found. Undefined if the mints are
 * out of order, so that nothing follows from them.
 */
export function narrowBracket(
  bracket: MintBracket,
  window: Range,
  mints: readonly Mint[],
): MintBracket | number | undefined {
  const { tokenId, to } = bracket
  const match = mints.find((mint) => mint.tokenId === tokenId)
  if (match !== undefined) return match.block
  const { empty: _, ...bounds } = bracket
  const [first, last] = [mints[0], mints.at(-1)]
  if (first === undefined || last === undefined) {
    const empty = { from: bracket.empty?.from ?? window.fromBlock, to: window.toBlock }
    return empty.to >= to ? { ...bounds, to: empty.from - 1 } : { ...bounds, empty }
  }
  if (last.tokenId < tokenId) return { ...bounds, from: window.toBlock + 1, below: last }
  if (first.tokenId < tokenId) return undefined
  return { ...bounds, to: (bracket.empty?.from ?? window.fromBlock) - 1, above: first }
}
