import type { Address } from 'viem'

/** The one shop of a chain. */
export interface PawnshopDeployment {
  readonly shop: Address
  readonly startBlock: number
}
