import type { Address } from 'viem'

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
