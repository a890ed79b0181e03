import type { Address, Hex } from 'viem'

/** The pools that price what nobody else prices on a chain. */
interface PoolRow {
  /** Uniswap V3's canonical one. */
  readonly factory: Address
  /** Up to four tokens with a feed. */
  readonly quotes: readonly Address[]
}

/** Uniswap's first factory, at one address on several chains. */
const FACTORY: Address = '0x1F98431c8aD98523631AE4a59f267346ea31F984'

/**
 * Uniswap V3 by chain id. Source of factories: `@uniswap/sdk-core` 7.19.4, which `test/finance/price/table_test.ts`
 * compares. Quote tokens are the wrapped native token and those that most pools hold, among the tokens with a feed.
 */
export const POOL_ROWS: Readonly<Record<number, PoolRow>> = {
  // Ethereum: WETH, USDC, USDT, DAI
  1: {
    factory: FACTORY,
    quotes: [
      ...(['0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2', '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'] as const),
      ...(['0xdAC17F958D2ee523a2206206994597C13D831ec7', '0x6B175474E89094C44Da98b954EedeAC495271d0F'] as const),
    ],
  },
  // OP Mainnet: WETH, USDC, USDT, OP
  10: {
    factory: FACTORY,
    quotes: [
      ...(['0x4200000000000000000000000000000000000006', '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85'] as const),
      ...(['0x94b008aA00579c1307B0EF2c499aD98a8ce58e58', '0x4200000000000000000000000000000000000042'] as const),
    ],
  },
  // BNB Smart Chain: WBNB, USDT, USDC, ETH
  56: {
    factory: '0xdB1d10011AD0Ff90774D0C6Bb92e5C5c8b4461F7',
    quotes: [
      ...(['0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c', '0x55d398326f99059fF775485246999027B3197955'] as const),
      ...(['0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d', '0x2170Ed0880ac9A755fd29B2688956BD959F933F8'] as const),
    ],
  },
  // Polygon: WPOL, USDC, USDC.e, WETH
  137: {
    factory: FACTORY,
    quotes: [
      ...(['0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270', '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'] as const),
      ...(['0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174', '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619'] as const),
    ],
  },
  // Base: WETH, USDC, cbBTC, USDbC
  8453: {
    factory: '0x33128a8fC17869897dcE68Ed026d694621f6FDfD',
    quotes: [
      ...(['0x4200000000000000000000000000000000000006', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'] as const),
      ...(['0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf', '0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA'] as const),
    ],
  },
  // Arbitrum One: WETH, USDC, USDC.e, USDT
  42161: {
    factory: FACTORY,
    quotes: [
      ...(['0x82aF49447D8a07e3bd95BD0d56f35241523fBab1', '0xaf88d065e77c8cC2239327C5EDb3A432268e5831'] as const),
      ...(['0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8', '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9'] as const),
    ],
  },
  // Celo: CELO, USDC, USDT, WETH
  42220: {
    factory: '0xAfE208a311B21f13EF87E33A90049fC17A7acDEc',
    quotes: [
      ...(['0x471EcE3750Da237f93B8E339c536989b8978a438', '0xcebA9300f2b948710d2653dD7B07f33A8B32118C'] as const),
      ...(['0x48065fbBE25f71C9282ddf5e1cD6D6A887483D5e', '0xD221812de1BD094f35587EE8E174B07B6167D9Af'] as const),
    ],
  },
  // Avalanche: WAVAX, USDC, USDt, WETH.e
  43114: {
    factory: '0x740b1c1de25031C31FF4fC9A62f554A55cdC1baD',
    quotes: [
      ...(['0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7', '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E'] as const),
      ...(['0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7', '0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB'] as const),
    ],
  },
}

/** Of Uniswap V3's pools. Source: v3-periphery `PoolAddress.POOL_INIT_CODE_HASH`. */
const POOL_INIT_CODE_HASH: Hex = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54'

/**
 * The hash of the creation code of a factory's pools, which tells where they are. A false one costs gas and no price: the
 * factory is asked about the pool that is chosen.
 */
export const POOL_INIT_CODE_HASHES: Readonly<Record<Address, Hex>> = Object.fromEntries(
  Object.values(POOL_ROWS).map(({ factory }) => [factory, POOL_INIT_CODE_HASH]),
)
