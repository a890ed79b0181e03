import type { Address } from 'viem'

/** One EVM chain as configuration describes it; protocols' addresses live in each family's deployments. */
export interface Chain {
  readonly id: number
  readonly name: string
  /** Tried in order of health. They may hold secrets: never logged, never shown. */
  readonly rpcUrls: readonly string[]
  /** How long an answer may be reused; with 0 nothing is reused. */
  readonly blockTimeMs: number
  /** How far the newest block may be from the wall clock, seconds. Absent: the larger of 60 s and 20 blocks. */
  readonly maxBlockAgeSec?: number
  readonly finality: { readonly depth: number } | { readonly tag: 'safe' | 'finalized' }
  readonly prices: ChainPrices
  /** Tokens that the operator calls spam, checksummed. */
  readonly spamTokens: readonly Address[]
}

/** Sources of USD prices for a chain's tokens. */
export interface ChainPrices {
  /** Token → Chainlink-style aggregator that answers in USD. */
  readonly usdFeeds: Readonly<Record<Address, UsdFeed>>
  /** Tokens taken as one dollar if they have no feed. */
  readonly stablecoins: readonly Address[]
  /** Aave's oracle, for tokens without a feed: its prices are US dollars with 8 decimals. */
  readonly aaveOracle?: Address
  readonly wrappedNative?: Address
}

/** A price feed and the longest normal time between its updates. */
export interface UsdFeed {
  readonly feed: Address
  readonly heartbeatSec: number
}
