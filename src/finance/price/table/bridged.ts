import type { Address } from 'viem'

/**
 * Tokens by chain id that a bridge issued for one of another chain, and that have the feed of what they stand for: the
 * feed does not show whether the bridge holds it.
 *
 * Sources. Tokens: `feeds.ts`, where they share a feed with the issuer's own token or have the bridge's mark in their
 * symbol.
 */
export const BRIDGED_ROWS: Readonly<Record<number, readonly Address[]>> = {
  // OP Mainnet
  10: ['0x7F5c764cBc14f9669B88837ca1490cCa17c31607'], // USDC.e
  // Gnosis
  100: [
    '0xDDAfbb505ad214D7b80b1f830fcCc89B60fb7A83', // USDC
    '0x2a22f9c3b484c3629090FeED35F17Ff8F88f76F0', // USDCe
  ],
  // Polygon
  137: ['0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174'], // USDC.e
  // Sonic
  146: ['0x29219dd400f2Bf60E5a23d13Be72B486D4038894'], // USDC.e
  // Metis
  1088: [
    '0xEA32A96608495e54156Ae48931A7c20f0dcc1a21', // mUSDC
    '0xbB06DCA3AE6887fAbF931640f67cab3e3a16F4dC', // mUSDT
    '0x4c078361FC9BbB78DF910800A991C7c3DD2F6ce0', // mDAI
  ],
  // Soneium Mainnet
  1868: ['0xbA9986D2381edf1DA03B0B9c1f8b00dc4AacC369'], // USDCe
  // Base
  8453: ['0xd9aAEc86B65D86f6A7B5B1b0c42FFA531710b6CA'], // USDbC
  // Arbitrum One
  42161: ['0xFF970A61A04b1cA14834A43f5dE4533eBDDB5CC8'], // USDC.e
  // Avalanche
  43114: [
    '0x49D5c2BdFfac6CE2BFdB6640F4F80f226bc10bAB', // WETH.e
    '0x152b9d0FdC40C096757F570A51E494bd4b943E50', // BTC.b
    '0x50b7545627a5162F82A992c33b87aDc75187B218', // WBTC.e
    '0xd586E7F844cEa2F87f50152665BCbc2C279D8d70', // DAI.e
  ],
}

/**
 * Tokens by chain id whose bridge lost what they stand for: feeds and Aave's frozen markets still say the price of that,
 * so no source prices them.
 *
 * Sources. Tokens: `@aave-dao/aave-address-book` 4.68.1. Harmony's Horizon bridge, June 2022:
 * https://governance.aave.com/t/8614. Multichain on Fantom, July 2023: what Geist Finance said when it closed. What no
 * source names as lost (LINK on both, for example) is not here.
 */
export const FAILED_BRIDGE_ROWS: Readonly<Record<number, readonly Address[]>> = {
  // Fantom
  250: [
    '0x8D11eC38a3EB5E956B052f67Da8Bdc9bef8Abf3E', // DAI
    '0x04068DA6C83AFCFA0e13ba15A6696662335D5B75', // USDC
    '0x049d68029688eAbF473097a2fC38ef61633A3C7A', // fUSDT
    '0x321162Cd933E2Be498Cd2267a90534A804051b11', // BTC
    '0x74b23882a30290451A17c44f4F05243b6b58C76d', // ETH
  ],
  // Harmony One
  1666600000: [
    '0xEf977d2f931C1978Db5F6747666fa1eACB0d0339', // 1DAI
    '0x985458E523dB3d53125813eD68c274899e9DfAb4', // 1USDC
    '0x3C2B8Be99c50593081EAA2A724F0B8285F5aba8f', // 1USDT
    '0xcF323Aad9E522B93F11c352CaA519Ad0E14eB40F', // 1AAVE
  ],
}
