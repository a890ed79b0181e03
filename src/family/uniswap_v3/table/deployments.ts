import type { Address } from 'viem'

/** One position manager of a Uniswap-V3-style exchange. */
export interface UniswapV3Deployment {
  readonly manager: Address
  readonly factory: Address
  /** A block before which the manager has no events. */
  readonly startBlock: number
  /** `protocol.code` of its positions. */
  readonly code: string
}
