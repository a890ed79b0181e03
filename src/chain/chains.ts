import type { Address } from 'viem'
import type { Chain, UsdFeed } from './chain.ts'

/** Multicall3 has one address on every chain of this table. */
const MULTICALL3 = '0xcA11bde05977b3631167028862bE2a173976CA11'

const HOUR_SEC = 3_600
/** The longest heartbeat that Chainlink runs: for stablecoins, and where a chain's shorter one is not published. */
const DAY_SEC = 86_400

const ETHEREUM: Chain = {
  id: 1,
  name: 'Ethereum',
  rpcUrls: [
    'https://ethereum-rpc.publicnode.com',
    'https://eth.drpc.org',
    'https://ethereum.reth.rs/rpc',
    'https://mainnet.gateway.tenderly.co',
  ],
  blockTimeMs: 12_000,
  finality: { tag: 'finalized' },
  multicall3: MULTICALL3,
  prices: {
    usdFeeds: {
      // WETH, WBTC (priced as BTC), DAI
      '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2': feed('0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419', HOUR_SEC),
      '0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599': feed('0xF4030086522a5bEEa4988F8cA5B36dbC97BeE88c', HOUR_SEC),
      '0x6B175474E89094C44Da98b954EedeAC495271d0F': feed('0xAed0c38402a5d19df6E4c03F4E2DceD6e29c1ee9', HOUR_SEC),
      // USDC, USDT
      '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48': feed('0x8fFfFfd4AfB6115b954Bd326cbe7B4BA576818f6', DAY_SEC),
      '0xdAC17F958D2ee523a2206206994597C13D831ec7': feed('0x3E7d1eAB13ad0104d2750B8863b489D65364e32D', DAY_SEC),
    },
    stablecoins: [
      '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', // USDC
      '0xdAC17F958D2ee523a2206206994597C13D831ec7', // USDT
      '0x6B175474E89094C44Da98b954EedeAC495271d0F', // DAI
      '0xdC035D45d973E3EC169d2276DDab16f1e407384F', // USDS
    ],
    aaveOracle: '0x54586bE62E3c3580375aE3723C145253060Ca0C2',
    wrappedNative: '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2',
  },
  spamTokens: [],
}

const ARBITRUM: Chain = {
  id: 42_161,
  name: 'Arbitrum One',
  rpcUrls: [
    'https://arb1.arbitrum.io/rpc',
    'https://arbitrum-one-rpc.publicnode.com',
    'https://arbitrum.drpc.org',
    'https://arbitrum.gateway.tenderly.co',
  ],
  blockTimeMs: 250,
  finality: { tag: 'finalized' },
  multicall3: MULTICALL3,
  prices: {
    usdFeeds: {
      // WETH, WBTC
      '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1': feed('0x639Fe6ab55C921f74e7fac1ee960C0B6293ba612', HOUR_SEC),
      '0x2f2a2543B76A4166549F7aaB2e75Bef0aefC5B0f': feed('0x6ce185860a4963106506C203335A2910413708e9', HOUR_SEC),
      // USDC, bridged USDC, USDT, DAI, ARB
      '0xaf88d065e77c8cC2239327C5EDb3A432268e5831': feed('0x50834F3163758fcC1Df9973b6e91f0F0F0434aD3', DAY_SEC),
      '0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8': feed('0x50834F3163758fcC1Df9973b6e91f0F0F0434aD3', DAY_SEC),
      '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9': feed('0x3f3f5dF88dC9F13eac63DF89EC16ef6e7E25DdE7', DAY_SEC),
      '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1': feed('0xc5C8E77B397E531B8EC06BFb0048328B30E9eCfB', DAY_SEC),
      '0x912CE59144191C1204E64559FE8253a0e49E6548': feed('0xb2A824043730FE05F3DA2efaFa1CBbe83fa548D6', DAY_SEC),
    },
    stablecoins: [
      '0xaf88d065e77c8cC2239327C5EDb3A432268e5831', // USDC
      '0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8', // USDC.e
      '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9', // USDT
      '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', // DAI
    ],
    aaveOracle: '0xb56c2F0B653B2e0b10C9b928C8580Ac5Df02C7C7',
    wrappedNative: '0x82aF49447D8a07e3bd95BD0d56f35241523fBab1',
  },
  spamTokens: [],
}

const OPTIMISM: Chain = {
  id: 10,
  name: 'OP Mainnet',
  rpcUrls: [
    'https://mainnet.optimism.io',
    'https://optimism-rpc.publicnode.com',
    'https://optimism.drpc.org',
    'https://optimism.gateway.tenderly.co',
  ],
  blockTimeMs: 2_000,
  finality: { tag: 'finalized' },
  multicall3: MULTICALL3,
  prices: {
    usdFeeds: {
      // WETH, WBTC
      '0x4200000000000000000000000000000000000006': feed('0x13e3Ee699D1909E989722E753853AE30b17e08c5', 1_200),
      '0x68f180fcCe6836688e9084f035309E29Bf0A2095': feed('0xD702DD976Fb76Fffc2D3963D037dfDae5b04E593', 1_200),
      // USDC, bridged USDC, USDT, DAI, OP
      '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85': feed('0x16a9FA2FDa030272Ce99B29CF780dFA30361E0f3', DAY_SEC),
      '0x7F5c764cBc14f9669B88837ca1490cCa17c31607': feed('0x16a9FA2FDa030272Ce99B29CF780dFA30361E0f3', DAY_SEC),
      '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58': feed('0xECef79E109e997bCA29c1c0897ec9d7b03647F5E', DAY_SEC),
      '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1': feed('0x8dBa75e83DA73cc766A7e5a0ee71F656BAb470d6', DAY_SEC),
      '0x4200000000000000000000000000000000000042': feed('0x0D276FC14719f9292D5C1eA2198673d1f4269246', DAY_SEC),
    },
    stablecoins: [
      '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85', // USDC
      '0x7F5c764cBc14f9669B88837ca1490cCa17c31607', // USDC.e
      '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58', // USDT
      '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', // DAI
    ],
    aaveOracle: '0xD81eb3728a631871a7eBBaD631b5f424909f0c77',
    wrappedNative: '0x4200000000000000000000000000000000000006',
  },
  spamTokens: [],
}

const BASE: Chain = {
  id: 8_453,
  name: 'Base',
  rpcUrls: [
    'https://mainnet.base.org',
    'https://base-rpc.publicnode.com',
    'https://base.drpc.org',
    'https://base.gateway.tenderly.co',
  ],
  blockTimeMs: 2_000,
  finality: { tag: 'finalized' },
  multicall3: MULTICALL3,
  prices: {
    usdFeeds: {
      // WETH, cbBTC (priced as BTC)
      '0x4200000000000000000000000000000000000006': feed('0x71041dddad3595F9CEd3DcCFBe3D1F4b0a16Bb70', 1_200),
      '0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf': feed('0x64c911996D3c6aC71f9b455B1E8E7266BcbD848F', 1_200),
      // USDC, bridged USDC
      '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913': feed('0x7e860098F58bBFC8648a4311b374B1D669a2bc6B', DAY_SEC),
      '0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA': feed('0x7e860098F58bBFC8648a4311b374B1D669a2bc6B', DAY_SEC),
    },
    stablecoins: [
      '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', // USDC
      '0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA', // USDbC
    ],
    aaveOracle: '0x2Cc0Fc26eD4563A5ce5e8bdcfe1A2878676Ae156',
    wrappedNative: '0x4200000000000000000000000000000000000006',
  },
  spamTokens: [],
}

const POLYGON: Chain = {
  id: 137,
  name: 'Polygon',
  rpcUrls: [
    'https://polygon-bor-rpc.publicnode.com',
    'https://polygon.drpc.org',
    'https://polygon.gateway.tenderly.co',
    'https://polygon-rpc.com',
  ],
  blockTimeMs: 2_000,
  finality: { tag: 'finalized' },
  multicall3: MULTICALL3,
  prices: {
    usdFeeds: {
      // WPOL, WETH, WBTC
      '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270': feed('0xAB594600376Ec9fD91F8e885dADF0CE036862dE0', DAY_SEC),
      '0x7ceB23fD6bC0adD59E62ac25578270cFf1b9f619': feed('0xF9680D99D6C9589e2a93a78A04A279e509205945', DAY_SEC),
      '0x1BFD67037B42Cf73acF2047067bd4F2C47D9BfD6': feed('0xc907E116054Ad103354f2D350FD2514433D57F6f', DAY_SEC),
      // USDC, bridged USDC, USDT, DAI
      '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359': feed('0xfE4A8cc5b5B2366C1B58Bea3858e81843581b2F7', DAY_SEC),
      '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174': feed('0xfE4A8cc5b5B2366C1B58Bea3858e81843581b2F7', DAY_SEC),
      '0xc2132D05D31c914a87C6611C10748AEb04B58e8F': feed('0x0A6513e40db6EB1b165753AD52E80663aeA50545', DAY_SEC),
      '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063': feed('0x4746DeC9e833A82EC7C2C1356372CcF2cfcD2F3D', DAY_SEC),
    },
    stablecoins: [
      '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', // USDC
      '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174', // USDC.e
      '0xc2132D05D31c914a87C6611C10748AEb04B58e8F', // USDT
      '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063', // DAI
    ],
    aaveOracle: '0xb023e699F5a33916Ea823A16485e259257cA8Bd1',
    wrappedNative: '0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270',
  },
  spamTokens: [],
}

const BNB: Chain = {
  id: 56,
  name: 'BNB Smart Chain',
  rpcUrls: [
    'https://bsc-dataseed.bnbchain.org',
    'https://bsc-rpc.publicnode.com',
    'https://bsc.drpc.org',
    'https://bsc-dataseed1.defibit.io',
  ],
  blockTimeMs: 750,
  finality: { tag: 'finalized' },
  multicall3: MULTICALL3,
  prices: {
    usdFeeds: {
      // WBNB, ETH, BTCB
      '0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c': feed('0x0567F2323251f0Aab15c8dFb1967E4e8A7D42aeE', DAY_SEC),
      '0x2170Ed0880ac9A755fd29B2688956BD959F933F8': feed('0x9ef1B8c0E4F7dc8bF5719Ea496883DC6401d5b2e', DAY_SEC),
      '0x7130d2A12B9BCbFAe4f2634d864A1Ee1Ce3Ead9c': feed('0x264990fbd0A4796A3E3d8E37C4d5F87a3aCa5Ebf', DAY_SEC),
    },
    stablecoins: [
      '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d', // USDC
      '0x55d398326f99059fF775485246999027B3197955', // USDT
      '0xc5f0f7b66764F6ec8C8Dff7BA683102295E16409', // FDUSD
    ],
    aaveOracle: '0x39bc1bfDa2130d6Bb6DBEfd366939b4c7aa7C697',
    wrappedNative: '0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c',
  },
  spamTokens: [],
}

const AVALANCHE: Chain = {
  id: 43_114,
  name: 'Avalanche',
  rpcUrls: [
    'https://api.avax.network/ext/bc/C/rpc',
    'https://avalanche-c-chain-rpc.publicnode.com',
    'https://avalanche.drpc.org',
    'https://avalanche-mainnet.gateway.tenderly.co',
  ],
  blockTimeMs: 1_700,
  finality: { tag: 'finalized' },
  multicall3: MULTICALL3,
  prices: {
    usdFeeds: {
      // WAVAX, WETH.e, BTC.b, WBTC.e
      '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7': feed('0x0A77230d17318075983913bC2145DB16C7366156', DAY_SEC),
      '0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB': feed('0x976B3D034E162d8bD72D6b9C989d545b839003b0', DAY_SEC),
      '0x152b9d0FdC40C096757F570A51E494bd4b943E50': feed('0x2779D32d5166BAaa2B2b658333bA7e6Ec0C65743', DAY_SEC),
      '0x50b7545627a5162F82A992c33b87aDc75187B218': feed('0x2779D32d5166BAaa2B2b658333bA7e6Ec0C65743', DAY_SEC),
      // USDC, USDt, DAI.e
      '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E': feed('0xF096872672F44d6EBA71458D74fe67F9a77a23B9', DAY_SEC),
      '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7': feed('0xEBE676ee90Fe1112671f19b6B7459bC678B67e8a', DAY_SEC),
      '0xd586E7F844cEa2F87f50152665BCbc2C279D8d70': feed('0x51D7180edA2260cc4F6e4EebB82FEF5c3c2B8300', DAY_SEC),
    },
    stablecoins: [
      '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E', // USDC
      '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7', // USDt
      '0xd586E7F844cEa2F87f50152665BCbc2C279D8d70', // DAI.e
    ],
    aaveOracle: '0xEBd36016B3eD09D4693Ed4251c67Bd858c3c7C9C',
    wrappedNative: '0xB31f66AA3C1e785363F0875A1B74E27b85FD66c7',
  },
  spamTokens: [],
}

/**
 * The chains that are served without configuration, each over public endpoints that want no key. Block times as viem
 * gives them; feeds are Chainlink's plain USD aggregators, the ones that Aave's markets list or listed for the token;
 * oracles are those of Aave V3's main markets.
 */
export const CHAINS: readonly Chain[] = [ETHEREUM, ARBITRUM, OPTIMISM, BASE, POLYGON, BNB, AVALANCHE]

function feed(address: Address, heartbeatSec: number): UsdFeed {
  return { feed: address, heartbeatSec }
}
