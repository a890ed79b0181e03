import type { Hex } from 'viem'

/** One block of an EVM chain, from its header or from a call at that block. */
export interface Block {
  readonly chainId: number
  readonly number: bigint
  readonly timestampSec: bigint
  /** Hash of the previous block. */
  readonly parentHash: Hex
  /** Known from its header only: a call cannot know the hash of its own block. */
  readonly hash?: Hex
}

/** A block with its hash, to which calls can be pinned so that they never see another block of the same height. */
export interface PinnedBlock extends Block {
  readonly hash: Hex
}

/** True if a call saw the block it was pinned to. Parent hashes are not compared: some chains hide them from calls. */
export function matchesBlock(seen: Block, { chainId, number, timestampSec }: Block): boolean {
  return seen.chainId === chainId && seen.number === number && seen.timestampSec === timestampSec
}

/** True if calls cannot distinguish the two blocks. */
export function isSameBlock(a: Block, b: Block): boolean {
  return matchesBlock(a, b) && a.parentHash === b.parentHash
}
