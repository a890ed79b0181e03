import type { Hex } from 'viem'

/** One block of an EVM chain, from its header or from the call that read at it. */
export interface Block {
  readonly chainId: number
  readonly number: bigint
  readonly timestampSec: bigint
  /** Hash of the block before. */
  readonly parentHash: Hex
  /** Known from its header only: a call cannot know the hash of its own block. */
  readonly hash?: Hex
}

/** A block that further calls can be pinned to by its hash, so that they never see another one of the same height. */
export interface PinnedBlock extends Block {
  readonly hash: Hex
}

/** What a call shows of the block it saw, compared with one that it was pinned to: some chains hide the parent's hash. */
export function matchesBlock(seen: Block, { chainId, number, timestampSec }: Block): boolean {
  return seen.chainId === chainId && seen.number === number && seen.timestampSec === timestampSec
}

/** True if no call could tell the two blocks apart. */
export function isSameBlock(a: Block, b: Block): boolean {
  return matchesBlock(a, b) && a.parentHash === b.parentHash
}
