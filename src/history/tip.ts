import type { Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'

/** The newest block, and the number of the block that will be final if the other endpoints have it. */
export interface CandidateTip {
  readonly block: PinnedBlock
  readonly finalNumber: bigint
  readonly grandparent: Grandparent | undefined
}

/** The hash of the newest block's grandparent, and the index of the endpoint that returned it. */
export interface Grandparent {
  readonly hash: Hex
  readonly holder: number
}

/** The newest block of a chain, and the newest block that history will be built on if the endpoints agree. */
export interface ExpectedTip extends Pick<CandidateTip, 'block' | 'grandparent'> {
  readonly finalized: Pick<PinnedBlock, 'number'>
}

/** The newest block of a chain, and the newest block that history may be built on. */
export interface Tip extends ExpectedTip {
  readonly finalized: PinnedBlock
  /** Indexes of the endpoints that have just returned the final block. */
  readonly holders: readonly number[]
  /** Number of rollbacks of the chain's history. */
  readonly epoch: number
}

/** Called with the probable tip, maybe more than once. */
export type OnExpectedTip = (tip: ExpectedTip) => void

/** The tip of a chain while it is read. */
export interface PendingTip {
  /**
   * Waits for the tip. Calls `onExpected` with the tip that the endpoints will probably agree on, so that its reads can
   * start; they must be dropped if the tip is another. Throws `UnavailableError` if no endpoint answers, if the
   * endpoints have different final blocks, or if the chain's history is stopped because a final block was replaced.
   */
  waitForTip(onExpected?: OnExpectedTip): Promise<Tip>
}

/** True if both have the same newest block, and final blocks of one number. */
export function isSameTip(a: ExpectedTip, b: ExpectedTip): boolean {
  return a.block.hash === b.block.hash && a.finalized.number === b.finalized.number
}
