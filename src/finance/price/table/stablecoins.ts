import type { Address } from 'viem'

/**
 * Tokens by chain id that are taken as one dollar if neither a feed nor Aave's oracle knows them. Source of those on
 * chains without feeds: the USDC that `@morpho-org/morpho-ts` 2.8.0 names there.
 */
export const STABLECOIN_ROWS: Readonly<Record<number, readonly Address[]>> = {
  // Ethereum
  1: [
    '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48', // USDC
    '0xdAC17F958D2ee523a2206206994597C13D831ec7', // USDT
    '0x6B175474E89094C44Da98b954EedeAC495271d0F', // DAI
    '0xdC035D45d973E3EC169d2276DDab16f1e407384F', // USDS
  ],
  // OP Mainnet
  10: [
    '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85', // USDC
    '0x7F5c764cBc14f9669B88837ca1490cCa17c31607', // USDC.e
    '0x94b008aA00579c1307B0EF2c499aD98a8ce58e58', // USDT
    '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', // DAI
  ],
  // BNB Smart Chain
  56: [
    '0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d', // USDC
    '0x55d398326f99059fF775485246999027B3197955', // USDT
    '0xc5f0f7b66764F6ec8C8Dff7BA683102295E16409', // FDUSD
  ],
  // Unichain
  130: [
    '0x078D782b760474a361dDA0AF3839290b0EF57AD6', // USDC
  ],
  // Polygon
  137: [
    '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', // USDC
    '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174', // USDC.e
    '0xc2132D05D31c914a87C6611C10748AEb04B58e8F', // USDT
    '0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063', // DAI
  ],
  // World Chain
  480: [
    '0x79A02482A880bCE3F13e09Da970dC34db4CD24d1', // USDC
  ],
  // HyperEVM
  999: [
    '0xb88339CB7199b77E23DB6E890353E22632Ba630f', // USDC
  ],
  // Lisk
  1135: [
    '0xF242275d3a6527d877f2c927a82D9b057609cc71', // USDC
  ],
  // Sei Network
  1329: [
    '0xe15fC38F6D8c56aF07bbCBe3BAf5708A2Bf42392', // USDC
  ],
  // Base
  8453: [
    '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', // USDC
    '0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA', // USDbC
  ],
  // Arbitrum One
  42161: [
    '0xaf88d065e77c8cC2239327C5EDb3A432268e5831', // USDC
    '0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8', // USDC.e
    '0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9', // USDT
    '0xDA10009cBd5D07dd0CeCc66161FC93D7c9000da1', // DAI
  ],
  // Hemi
  43111: [
    '0xad11a8BEb98bbf61dbb1aa0F6d6F2ECD87b35afA', // USDC
  ],
  // Avalanche
  43114: [
    '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E', // USDC
    '0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7', // USDt
    '0xd586E7F844cEa2F87f50152665BCbc2C279D8d70', // DAI.e
  ],
  // Ink
  57073: [
    '0xF1815bd50389c46847f0Bda824eC8da914045D14', // USDC
  ],
  // Plume
  98866: [
    '0xc98E8c6cB80AC48E4bbD3B56f5895DD64dA7d10a', // USDC
  ],
  // Bitlayer Mainnet
  200901: [
    '0xf8C374CE88A3BE3d374e8888349C7768B607c755', // USDC
  ],
  // Corn
  21000000: [
    '0xDF0B24095e15044538866576754F3C964e902Ee6', // USDC
  ],
}
