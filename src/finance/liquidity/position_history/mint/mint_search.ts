import { type Hex, toEventSelector } from 'viem'
import type { Range } from '../../../../history/range.ts'
import type { HistoryLog, LogFilter } from '../../../../history/stream.ts'

/** A manager numbers its positions in the order of their mints: what that tells about where one was minted. */
export interface MintBracket {
  readonly tokenId: bigint
  /** The mint is in one of the blocks `from` to `to`, both included; if `from` is higher, there is none. */
  readonly from: number
  readonly to: number
  /** The nearest mints that are known before and after. */
  readonly below?: Mint | undefined
  readonly above?: Mint | undefined
  /** Blocks in between that have no mints at all, which does not tell on which side the mint is. */
  readonly empty?: { readonly from: number; readonly to: number }
}

export interface Mint {
  readonly tokenId: bigint
  readonly block: number
}

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const FROM_ZERO: Hex = `0x${'0'.repeat(64)}`
/** The ids of busy times are dense: interpolation alone could creep. */
const BISECT_EVERY = 3

/** Finds a manager's mints, of every position. */
export function mintFilter(manager: Hex): LogFilter {
  return { addresses: [manager], topics: [[TRANSFER], [FROM_ZERO]] }
}

/** Mints of the filter's logs, in their order. */
export function decodeMints(logs: readonly HistoryLog[]): Mint[] {
  return logs.flatMap(({ topics: [, , , id], blockNumber }) =>
    id === undefined ? [] : [{ tokenId: BigInt(id), block: blockNumber }],
  )
}

/** The next `blocks` blocks to look at; `probes` were looked at before. */
export function nextWindow(
  { tokenId, from, to, below, above, empty }: MintBracket,
  { blocks, probes }: { readonly blocks: number; readonly probes: number },
): Range {
  if (empty !== undefined && empty.to < to) {
    return { fromBlock: empty.to + 1, toBlock: Math.min(to, empty.to + blocks) }
  }
  const isKnown = below !== undefined && above !== undefined && probes % BISECT_EVERY !== BISECT_EVERY - 1
  const share = isKnown ? Number(tokenId - below.tokenId) / Number(above.tokenId - below.tokenId) : 0.5
  const middle = from + Math.floor((to - from) * share)
  const fromBlock = Math.max(from, Math.min(middle - Math.floor(blocks / 2), to - blocks + 1))
  return { fromBlock, toBlock: Math.min(to, fromBlock + blocks - 1) }
}

/**
 * The bracket after a look at all mints of a window; the mint's block once it is found. Undefined if they are not in
 * order, so that nothing follows from them.
 */
export function narrowBracket(
  bracket: MintBracket,
  window: Range,
  mints: readonly Mint[],
): MintBracket | number | undefined {
  const { tokenId, to } = bracket
  const found = mints.find((mint) => mint.tokenId === tokenId)
  if (found !== undefined) return found.block
  const { empty: _, ...known } = bracket
  const [first, last] = [mints[0], mints.at(-1)]
  if (first === undefined || last === undefined) {
    const empty = { from: bracket.empty?.from ?? window.fromBlock, to: window.toBlock }
    return empty.to >= to ? { ...known, to: empty.from - 1 } : { ...known, empty }
  }
  if (last.tokenId < tokenId) return { ...known, from: window.toBlock + 1, below: last }
  if (first.tokenId < tokenId) return undefined
  return { ...known, to: (bracket.empty?.from ?? window.fromBlock) - 1, above: first }
}
