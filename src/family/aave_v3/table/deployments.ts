import type { Address } from 'viem'

/** One market of Aave V3, or of a fork that kept its contracts. */
export interface AaveV3Deployment {
  /** Its name in parameters and answers. */
  readonly market: string
  readonly poolAddressesProvider: Address
  /** A block before which the market has no events. */
  readonly startBlock: number
}

/** Other names of a market that parameters may use, to its own name. Answers always use its own name. */
export const MARKET_ALIASES: ReadonlyMap<string, string> = new Map([
  ['core', 'main'],
  ['prime', 'lido'],
])

/** Names that the specification of this interface has in place of markets. They are taken, and not shown. */
export const MARKET_PLACEHOLDERS: ReadonlyMap<string, string> = new Map([
  ['market_b', 'lido'],
  ['market_c', 'etherfi'],
])
