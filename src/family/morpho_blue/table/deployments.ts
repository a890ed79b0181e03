import type { Address } from 'viem'

/** Morpho Blue on one chain: one contract with all its markets. */
export interface MorphoBlueDeployment {
  readonly morpho: Address
  /** First block with events of the contract. */
  readonly startBlock: number
}
