import type { Address } from 'viem'

/** One market of Aave V3, or of a fork that kept its contracts. */
export interface AaveV3Deployment {
  /** Name in parameters and answers. */
  readonly market: string
  readonly poolAddressesProvider: Address
  /** Block before which the market has no events; 0 if unknown. */
  readonly startBlock: number
}

/** Maps aliases of markets in parameters to their own names. Answers always use a market's own name. */
export const MARKET_ALIASES: ReadonlyMap<string, string> = new Map([
  ['core', 'main'],
  ['prime', 'lido'],
])

/** Placeholder names of markets in the specification of this interface. Parameters accept them; documents omit them. */
export const MARKET_PLACEHOLDERS: ReadonlyMap<string, string> = new Map([
  ['market_b', 'lido'],
  ['market_c', 'etherfi'],
])
