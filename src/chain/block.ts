import type { Hex } from 'viem'

/** One block of an EVM chain, as the chain itself told it: in its header, or in the very call that read. */
export interface Block {
  readonly chainId: number
  readonly number: bigint
  readonly timestampSec: bigint
  /** Hash of the block before. */
  readonly parentHash: Hex
  /** Known from its header only: a call cannot know the hash of its own block. */
  readonly hash?: Hex
}

/** A block that further calls can be made to see, and nothing that takes its place at the same height. */
export interface PinnedBlock extends Block {
  readonly hash: Hex
}

/** True if nothing that a call can see of its block tells the two apart. */
export function isSameBlock(a: Block, b: Block): boolean {
  const isSameChain = a.chainId === b.chainId && a.parentHash === b.parentHash
  return isSameChain && a.number === b.number && a.timestampSec === b.timestampSec
}
