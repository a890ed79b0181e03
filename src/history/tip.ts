import type { Hex } from 'viem'
import type { PinnedBlock } from '../chain/block.ts'

/** The newest block, and which one will be final if the others have it too. */
export interface CandidateTip {
  readonly block: PinnedBlock
  readonly finalNumber: bigint
  readonly grandparent: Grandparent | undefined
}

/** The hash of the parent of the newest block's parent, and the endpoint that says so, by its index. */
export interface Grandparent {
  readonly hash: Hex
  readonly holder: number
}

/** The newest block of a chain, and the newest that history will be built on if the endpoints agree. */
export interface ExpectedTip extends Pick<CandidateTip, 'block' | 'grandparent'> {
  readonly finalized: Pick<PinnedBlock, 'number'>
}

/** The newest block of a chain, and the newest that history may be built on. */
export interface Tip extends ExpectedTip {
  readonly finalized: PinnedBlock
  /** The endpoints that gave the final block just now, by their indexes. */
  readonly holders: readonly number[]
  /** Counts how often the chain's history was taken back. */
  readonly epoch: number
}

/** Told what the tip will probably be, maybe more than once. */
export type OnExpectedTip = (tip: ExpectedTip) => void

/** The tip of a chain while it is read, for whoever will need it. */
export interface PendingTip {
  /**
   * Throws `UnavailableError` if no endpoint answers, if the endpoints have different final blocks, or if the chain's
   * history is stopped because a block was replaced that had been final. `expect` is told the tip that the endpoints will
   * probably agree on: reads for it may be begun, and must be dropped if the tip is another.
   */
  tip(expect?: OnExpectedTip): Promise<Tip>
}

/** True if both have the same newest block, and final blocks of one number. */
export function isSameTip(a: ExpectedTip, b: ExpectedTip): boolean {
  return a.block.hash === b.block.hash && a.finalized.number === b.finalized.number
}
