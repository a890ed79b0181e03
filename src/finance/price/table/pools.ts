import type { Address } from 'viem'

/** The pools that price a chain's tokens without another source. */
interface PoolRow {
  /** The canonical factory of Uniswap V3. */
  readonly factory: Address
  /** Up to four tokens, by their symbols in the table of feeds. */
  readonly quotes: readonly string[]
}

/** Uniswap's first factory, at one address on several chains. */
const FACTORY: Address = '0x1F98431c8aD98523631AE4a59f267346ea31F984'

/**
 * Uniswap V3 by chain id. Source of factories: `@uniswap/sdk-core` 7.19.4, which `test/unit/finance/price/table_test.ts`
 * compares. Quote tokens are the wrapped native token and those that most pools hold, among the tokens with a feed.
 */
export const POOL_ROWS: Readonly<Record<number, PoolRow>> = {
  // Ethereum
  1: { factory: FACTORY, quotes: ['WETH', 'USDC', 'USDT', 'DAI'] },
  // OP Mainnet
  10: { factory: FACTORY, quotes: ['WETH', 'USDC', 'USDT', 'OP'] },
  // BNB Smart Chain
  56: { factory: '0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7', quotes: ['WBNB', 'USDT', 'USDC', 'ETH'] },
  // Polygon
  137: { factory: FACTORY, quotes: ['WPOL', 'USDC', 'USDC.e', 'WETH'] },
  // Base
  8453: { factory: '0x33128a8fC17869897dcE68Ed026d694621f6FDfD', quotes: ['WETH', 'USDC', 'cbBTC', 'USDbC'] },
  // Arbitrum One
  42161: { factory: FACTORY, quotes: ['WETH', 'USDC', 'USDC.e', 'USDT'] },
  // Celo
  42220: { factory: '0xAfE208a311B21f13EF87E33A90049fC17A7acDEc', quotes: ['CELO', 'USDC', 'USDT', 'WETH'] },
  // Avalanche
  43114: { factory: '0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD', quotes: ['WAVAX', 'USDC', 'USDt', 'WETH.e'] },
}
