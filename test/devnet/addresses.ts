import { type Address, getAddress, keccak256, toHex } from 'viem'

/** Where Ethereum has these contracts, and so has the devnet. */
export const UNISWAP_V3 = {
  factory: '0x1F98431c8aD98523631AE4a59f267346ea31F984',
  manager: '0xC36442b4a4522E871399CD717aBDD847Ab11FE88',
  router: '0xE592427A0AEce92De3Edee1F18E0157C05861564',
  descriptor: '0x91ae842A5Ffd8d12023116943e72A606179294f3',
  nftDescriptor: '0x42B24A95702b9986e82d421cC3568932790A48Ec',
} as const satisfies Record<string, Address>

export const MULTICALL3: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

export interface DevnetToken {
  readonly address: Address
  readonly symbol: string
  readonly name: string
  readonly decimals: number
  /** Chainlink aggregator against USD, 8 decimals; wrapped ether uses ETH/USD. */
  readonly feed: Address
  /** USD per whole token when the devnet starts. */
  readonly usd: number
}

export const TOKENS = {
  weth: {
    address: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
    symbol: 'WETH',
    name: 'Wrapped Ether',
    decimals: 18,
    feed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419',
    usd: 3000,
  },
  usdc: {
    address: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
    symbol: 'USDC',
    name: 'USD Coin',
    decimals: 6,
    feed: '0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6',
    usd: 1,
  },
  dai: {
    address: '0x6B175474E89094C44Da98b954EedeAC495271d0F',
    symbol: 'DAI',
    name: 'Dai Stablecoin',
    decimals: 18,
    feed: '0xAed0c38402a5d19df6E4c03F4E2DceD6e29c1ee9',
    usd: 1,
  },
  wbtc: {
    address: '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599',
    symbol: 'WBTC',
    name: 'Wrapped BTC',
    decimals: 8,
    feed: '0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c',
    usd: 90000,
  },
  usdt: {
    address: '0xdAC17F958D2ee523a2206206994597C13D831ec7',
    symbol: 'USDT',
    name: 'Tether USD',
    decimals: 6,
    feed: '0x3E7d1eAB13ad0104d2750B8863b489D65364e32D',
    usd: 1,
  },
} as const satisfies Record<string, DevnetToken>

/** A wallet address without a known key; the devnet unlocks every sender. */
export function toWalletAddress(name: string): Address {
  return getAddress(`0x${keccak256(toHex(`devnet wallet ${name}`)).slice(-40)}`)
}

/** Deploys, owns the factory, pays for mints and swaps. */
export const BANK = toWalletAddress('bank')

/** The demo's wallets; what each holds is in scenario.ts. */
export const WALLETS = {
  /** Owns the wide positions that swaps trade against. */
  market: toWalletAddress('market'),
  /** One of everything. */
  provider: toWalletAddress('provider'),
  single: toWalletAddress('single'),
  empty: toWalletAddress('empty'),
  /** Nothing but closed positions. */
  retired: toWalletAddress('retired'),
  /** Was sent a position that another wallet minted. */
  receiver: toWalletAddress('receiver'),
  /** Got a spam position without asking for it, beside a good one. */
  spammed: toWalletAddress('spammed'),
} as const satisfies Record<string, Address>
