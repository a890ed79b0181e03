import type { Address } from 'viem'
import type { Chain } from '../chain/chain.ts'
import { CHAINS } from '../chain/chains.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import { AAVE_ORACLE_ROWS } from './price/table/aave_oracles.ts'
import { BRIDGED_ROWS, FAILED_BRIDGE_ROWS } from './price/table/bridged.ts'
import { FEED_ROWS, SEQUENCER_FEED_ROWS } from './price/table/feeds.ts'
import { POOL_ROWS } from './price/table/pools.ts'
import { STABLECOIN_ROWS } from './price/table/stablecoins.ts'
import { toWrapperRows, VAULT_ROWS } from './price/table/vaults.ts'
import { WRAPPER_ROWS, type WrapperKind } from './price/table/wrappers.ts'
import { createTokenList, type TokenList } from './token/list/list.ts'

/** The token of a chain that the table of feeds has under a symbol, such as USDC; undefined without one. */
export function findFeedToken(chainId: number, symbol: string): Address | undefined {
  return FEED_ROWS[chainId]?.find(([each]) => each === symbol)?.[1]
}

/** A chain with prices and lists of its tokens. */
export interface FinanceChain extends Chain {
  readonly prices: ChainPrices
  readonly tokens: TokenList
  /** A feed of Ethereum for the native token; absent if the chain prices it itself, or if Ethereum has none. */
  readonly borrowedFeed?: BorrowedFeed
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
  /** The feed that tells since when the chain's sequencer is up or down. */
  readonly sequencerFeed?: Address
  /** Token → the token it wraps, for tokens without a price of their own. The native token's wrapper needs no row. */
  readonly wrappers?: Readonly<Record<Address, Wrapper>>
  /** The factory of Uniswap V3 whose pools price tokens that have no other source. */
  readonly uniswapV3Factory?: Address
  /** Tokens that no source prices, because their bridge lost what they stand for. */
  readonly unbacked?: readonly Address[]
  /** Tokens whose feed is that of the token that they stand for, across a bridge. */
  readonly bridged?: readonly Address[]
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

/** A feed of another chain that prices a chain's native token. */
export interface BorrowedFeed {
  /** The chain of the feed. */
  readonly chainId: number
  /** The token of that chain that has the feed. */
  readonly token: Address
  /** Tokens taken as one dollar where the feed answers. */
  readonly stablecoins: readonly Address[]
}

/** The chain whose feeds others borrow. */
const LENDER_ID = 1
/** Ethereum's tokens by the symbol of the native tokens that stand for them, on built-in chains. */
const LENT_TOKENS: Readonly<Record<string, Address>> = {
  ETH: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', // WETH
  USDC: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', // USDC
  USDT0: '0xdAC17F958D2ee523a2206206994597C13D831ec7', // USDT
}

/** The built-in chains, by id. */
export const FINANCE_CHAINS: readonly FinanceChain[] = CHAINS.map((chain) => {
  const prices = createChainPrices(chain)
  return {
    ...chain,
    ...settleStablecoins({ ...chain, prices }, { isBuiltIn: true }),
    tokens: createTokenList({ ...chain, prices }),
    spamTokens: [],
  }
})

/**
 * Returns the prices of a chain, and the feed that it borrows. A chain that cannot price its native token takes no dollar
 * for granted either: of an ordinary loan, one side without the other would be a large net worth or a large debt.
 */
export function settleStablecoins(
  { id, nativeCurrency, prices }: Pick<FinanceChain, 'id' | 'nativeCurrency' | 'prices'>,
  { isBuiltIn }: { readonly isBuiltIn: boolean },
): Pick<FinanceChain, 'prices' | 'borrowedFeed'> {
  const { usdFeeds, aaveOracle, stablecoins } = prices
  const { wrapped, symbol = '' } = nativeCurrency ?? {}
  const hasOwnPrice = wrapped !== undefined && (usdFeeds[wrapped] !== undefined || stablecoins.includes(wrapped))
  if (aaveOracle !== undefined || hasOwnPrice) return { prices }
  // Any chain may call its native token ETH; that of a built-in one is ether.
  const token = isBuiltIn && id !== LENDER_ID ? LENT_TOKENS[symbol] : undefined
  return {
    prices: { ...prices, stablecoins: [] },
    ...(token === undefined ? {} : { borrowedFeed: { chainId: LENDER_ID, token, stablecoins } }),
  }
}

/** Creates the prices of a built-in chain from its tables. */
function createChainPrices({ id }: Chain): ChainPrices {
  const aaveOracle = AAVE_ORACLE_ROWS[id]
  const feeds = FEED_ROWS[id] ?? []
  const wrappers = [...(WRAPPER_ROWS[id] ?? []), ...toWrapperRows(VAULT_ROWS[id] ?? [])]
  const pools = POOL_ROWS[id]
  const unbacked = FAILED_BRIDGE_ROWS[id]
  const bridged = BRIDGED_ROWS[id]
  const sequencerFeed = SEQUENCER_FEED_ROWS[id]
  const quotes = pools?.quotes.flatMap((quote) => feeds.flatMap(([symbol, token]) => (symbol === quote ? token : [])))
  return {
    usdFeeds: Object.fromEntries(feeds.map(([, token, feed, heartbeatSec]) => [token, { feed, heartbeatSec }])),
    stablecoins: STABLECOIN_ROWS[id] ?? [],
    ...(aaveOracle === undefined ? {} : { aaveOracle }),
    ...(sequencerFeed === undefined ? {} : { sequencerFeed }),
    wrappers: Object.fromEntries(wrappers.map(([, token, of, kind = 'erc4626']) => [token, { kind, of }])),
    ...(unbacked === undefined ? {} : { unbacked }),
    ...(bridged === undefined ? {} : { bridged }),
    ...(pools && quotes ? { uniswapV3Factory: pools.factory, quotes } : {}),
  }
}
