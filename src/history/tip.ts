import type { Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'

/** The hash of the newest block's grandparent, and the index of the endpoint that returned it. */
export interface Grandparent {
  readonly hash: Hex
  readonly holder: number
}

/** The newest block of a chain, and the newest block that history may be built on. */
export interface Tip {
  readonly block: PinnedBlock
  readonly grandparent: Grandparent | undefined
  readonly finalized: PinnedBlock
  /** Indexes of the endpoints that have just returned the final block. */
  readonly holders: readonly number[]
  /** Number of rollbacks of the chain's history. */
  readonly epoch: number
}
