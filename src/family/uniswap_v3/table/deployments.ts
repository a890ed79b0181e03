import type { Address } from 'viem'

/** One position manager of a Uniswap-V3-style exchange. */
export interface UniswapV3Deployment {
  readonly manager: Address
  readonly factory: Address
  /** The manager has no events before this block. */
  readonly startBlock: number
  /** `protocol.code` of its positions. */
  readonly code: string
}
