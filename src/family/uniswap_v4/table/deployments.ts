import type { Address } from 'viem'

/** Uniswap V4 on one chain: one contract with all pools, and one whose tokens are the positions. */
export interface UniswapV4Deployment {
  readonly positionManager: Address
  readonly poolManager: Address
  /** A block before which neither has events; 0 if none is known. */
  readonly startBlock: number
}
