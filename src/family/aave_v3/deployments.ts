import type { Address } from 'viem'

/** One market of Aave V3, or of a fork that kept its contracts. */
export interface AaveV3Deployment {
  /** Its name in parameters and answers. */
  readonly market: string
  readonly poolAddressesProvider: Address
  /** First block with events of the market. */
  readonly startBlock: number
}

/** Aave's own markets by chain id; source: `@aave-dao/aave-address-book` 4.68.1, blocks of `aave/protocol-subgraphs`. */
export const AAVE_V3_DEPLOYMENTS: ReadonlyMap<number, readonly AaveV3Deployment[]> = new Map([
  [
    1,
    [
      market('main', '0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e', 16_291_123),
      market('lido', '0xcfBf336fe147D643B9Cb705648500e101504B16d', 20_262_371),
      market('etherfi', '0xeBa440B438Ad808101d1c451C1C5322c90BEFCdA', 20_625_517),
    ],
  ],
  [10, [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 4_365_624)]],
  [56, [market('main', '0xff75B6da14FfbbfD355Daf7a2731456b3562Ba6D', 33_571_625)]],
  [137, [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 25_825_990)]],
  [8_453, [market('main', '0xe20fCBdBfFC4Dd138cE8b2E6FBb6CB49777ad64D', 2_357_114)]],
  [42_161, [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 7_740_000)]],
  [43_114, [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 11_970_000)]],
])

/** Other names of a market in parameters; answers always carry the second. */
export const MARKET_ALIASES: ReadonlyMap<string, string> = new Map([
  ['core', 'main'],
  ['prime', 'lido'],
  ['market_b', 'lido'],
  ['market_c', 'etherfi'],
])

function market(name: string, poolAddressesProvider: Address, startBlock: number): AaveV3Deployment {
  return { market: name, poolAddressesProvider, startBlock }
}
