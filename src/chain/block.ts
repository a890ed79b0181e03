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

/** True if no call could tell the two blocks apart. */
export function isSameBlock(a: Block, b: Block): boolean {
  const isSameChain = a.chainId === b.chainId && a.parentHash === b.parentHash
  return isSameChain && a.number === b.number && a.timestampSec === b.timestampSec
}
