import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import { CHAINS } from '../chain/table/chains.ts'
import { AAVE_ORACLE_ROWS } from './price/table/aave_oracles.ts'
import { FEED_ROWS } from './price/table/feeds.ts'
import { POOL_ROWS } from './price/table/pools.ts'
import { STABLECOIN_ROWS } from './price/table/stablecoins.ts'
import { WRAPPER_ROWS, type WrapperKind } from './price/table/wrappers.ts'
import { createTokenList, type TokenList } from './token/list/list.ts'

/** A chain with prices and lists of its tokens. */
export interface FinanceChain extends Chain {
  readonly prices: ChainPrices
  readonly tokens: TokenList
  /** Contracts whose `balanceOf` returns the native balance, checksummed, besides the built-in ones. */
  readonly nativeDoubles?: readonly Address[]
  /** Tokens that the operator calls spam, checksummed. */
  readonly spamTokens: readonly Address[]
}

/** Client of a chain with prices and tokens. */
export type FinanceClient = ChainClient<FinanceChain>

/** Sources of USD prices for a chain's tokens. */
export interface ChainPrices {
  /** Token → Chainlink-style aggregator that answers in USD. */
  readonly usdFeeds: Readonly<Record<Address, UsdFeed>>
  /** Tokens taken as one dollar if they have no feed. */
  readonly stablecoins: readonly Address[]
  /** Aave's oracle, for tokens without a feed: its prices are US dollars with 8 decimals. */
  readonly aaveOracle?: Address
  /** Token → the token it wraps, for tokens without a price of their own. The native token's wrapper needs no row. */
  readonly wrappers?: Readonly<Record<Address, Wrapper>>
  /** The factory of Uniswap V3 whose pools price tokens that have no other source. */
  readonly uniswapV3Factory?: Address
  /** Tokens with a feed that such a pool may pair the token with; the first four count. */
  readonly quotes?: readonly Address[]
}

/** A token that stands for an amount of another one. */
export interface Wrapper {
  readonly kind: WrapperKind
  /** The token inside. */
  readonly of: Address
}

/** A price feed and the longest normal time between its updates. */
export interface UsdFeed {
  readonly feed: Address
  readonly heartbeatSec: number
}

/** The built-in chains, by id. */
export const FINANCE_CHAINS: readonly FinanceChain[] = CHAINS.map((chain) => {
  const prices = createChainPrices(chain)
  return { ...chain, prices, tokens: createTokenList({ ...chain, prices }), spamTokens: [] }
})

/**
 * Creates the prices of a built-in chain from its tables. A chain that cannot price its native token takes no dollar for
 * granted either: of an ordinary loan, one side without the other would be a large net worth or a large debt.
 */
function createChainPrices({ id, nativeCurrency }: Chain): ChainPrices {
  const aaveOracle = AAVE_ORACLE_ROWS[id]
  const feeds = FEED_ROWS[id] ?? []
  const isNativePriced = aaveOracle !== undefined || feeds.some(([, token]) => token === nativeCurrency?.wrapped)
  const wrappers = WRAPPER_ROWS[id] ?? []
  const pools = POOL_ROWS[id]
  const quotes = pools?.quotes.flatMap((quote) => feeds.flatMap(([symbol, token]) => (symbol === quote ? token : [])))
  return {
    usdFeeds: Object.fromEntries(feeds.map(([, token, feed, heartbeatSec]) => [token, { feed, heartbeatSec }])),
    stablecoins: isNativePriced ? (STABLECOIN_ROWS[id] ?? []) : [],
    ...(aaveOracle === undefined ? {} : { aaveOracle }),
    wrappers: Object.fromEntries(wrappers.map(([, token, of, kind = 'erc4626']) => [token, { kind, of }])),
    ...(pools && quotes ? { uniswapV3Factory: pools.factory, quotes } : {}),
  }
}
