import type { Address } from 'viem'

/** One EVM chain as configuration describes it; protocols' addresses live in each family's deployments. */
export interface Chain {
  readonly id: number
  readonly name: string
  /** Tried in order of health. They may hold secrets: never logged, never shown. */
  readonly rpcUrls: readonly string[]
  /** How long an answer may be reused; 0 reads anew every time. */
  readonly blockTimeMs: number
  /** How far the newest block may be from the wall clock, seconds. Absent: the larger of 60 s and 20 blocks. */
  readonly maxBlockAgeSec?: number
  readonly finality: { readonly depth: number } | { readonly tag: 'safe' | 'finalized' }
  /** For those who ask many contracts at once; no reading of this program needs it. */
  readonly multicall3?: Address
  readonly prices: ChainPrices
  /** Tokens that the operator calls spam, checksummed. */
  readonly spamTokens: readonly Address[]
}

/** Where USD prices of a chain's tokens come from. */
export interface ChainPrices {
  /** Token → Chainlink-style aggregator that answers in USD. */
  readonly usdFeeds: Readonly<Record<Address, UsdFeed>>
  /** Tokens taken as one dollar where they have no feed. */
  readonly stablecoins: readonly Address[]
  /** Aave's oracle, for tokens without a feed: its prices are US dollars with 8 decimals. */
  readonly aaveOracle?: Address
  readonly wrappedNative?: Address
}

/** A price feed and the longest silence that is still normal for it. */
export interface UsdFeed {
  readonly feed: Address
  readonly heartbeatSec: number
}
