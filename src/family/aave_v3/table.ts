import type { Address } from 'viem'
import { byChain } from '../../chain/chain.ts'

/** One market of Aave V3, or of a fork that kept its contracts. */
export interface AaveV3Deployment {
  /** Name in parameters and answers. */
  readonly market: string
  readonly poolAddressesProvider: Address
  /** Block before which the market has no events; 0 if unknown. */
  readonly startBlock: number
}

/** Maps aliases of markets in parameters to their own names. Answers always use a market's own name. */
export const MARKET_ALIASES: ReadonlyMap<string, string> = new Map([
  ['core', 'main'],
  ['prime', 'lido'],
])

/** Placeholder names of markets in the specification of this interface. Parameters accept them; documents omit them. */
export const MARKET_PLACEHOLDERS: ReadonlyMap<string, string> = new Map([
  ['market_b', 'lido'],
  ['market_c', 'etherfi'],
])

/**
 * Markets by chain id: Aave's own and those of forks that kept its contracts. Forks that are being wound down
 * (ZeroLend, the old pool of Seamless) are left out, and Kinza, because only one source has its address.
 *
 * Sources. Aave: `@aave-dao/aave-address-book` 4.68.1, checked by `test/unit/family/aave_v3/deployments_test.ts`.
 * SparkLend: `sparkdotfi/spark-address-registry`. HyperLend, HypurrFi and Yei publish no registry: ten or more public
 * third-party repositories agree. Blocks: `aave/protocol-subgraphs`; the block of the registry, which is older than the
 * pool; 0 if no source has it.
 */
export const AAVE_V3_DEPLOYMENTS: ReadonlyMap<number, readonly AaveV3Deployment[]> = byChain({
  1: [
    market('main', '0x2f39d218133AFaB8F2B819B1066c7E434Ad94E9e', 16_291_006),
    market('lido', '0xcfBf336fe147D643B9Cb705648500e101504B16d', 20_262_370),
    market('etherfi', '0xeBa440B438Ad808101d1c451C1C5322c90BEFCdA', 20_625_517),
    market('horizon', '0x5D39E06b825C1F2B80bf2756a73e28eFAA128ba0', 0),
    market('sparklend', '0x02C3eA4e34C0cBd694D2adFa2c690EECbC1793eE', 0),
  ],
  10: [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 4_364_782)],
  56: [market('main', '0xff75B6da14FfbbfD355Daf7a2731456b3562Ba6D', 33_571_624)],
  100: [
    market('main', '0x36616cf17557639614c1cdDb356b1B83fc0B2132', 30_293_054),
    market('sparklend', '0xA98DaCB3fC964A6A0d2ce3B77294241585EAbA6d', 0),
  ],
  137: [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 25_824_300)],
  143: [market('main', '0x34793Fb9935F7bB5E5aE920fb963F39063E7A615', 0)],
  146: [market('main', '0x5C2e738F6E27bCE0F7558051Bf90605dD6176900', 7_986_569)],
  196: [market('main', '0xdFf435BCcf782f11187D3a4454d96702eD78e092', 0)],
  250: [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 0)],
  999: [
    market('hyperlend', '0x72c98246a98bFe64022a3190e7710E157497170C', 0),
    market('hypurrfi', '0xA73ff12D177D8F1Ec938c3ba0e87D33524dD5594', 0),
  ],
  1088: [market('main', '0xB9FABd7500B2C6781c35Dd48d54f81fc2299D7AF', 5_445_183)],
  1329: [market('yei', '0x5C57266688A4aD1d3aB61209ebcb967B84227642', 0)],
  1868: [market('main', '0x82405D1a189bd6cE4667809C35B37fBE136A4c5B', 7_004_628)],
  4326: [market('main', '0x46Dcd5F4600319b02649Fd76B55aA6c1035CA478', 6_657_947)],
  5000: [market('main', '0xba50Cd2A20f6DA35D788639E581bca8d0B5d4D5f', 0)],
  8453: [market('main', '0xe20fCBdBfFC4Dd138cE8b2E6FBb6CB49777ad64D', 2_357_105)],
  9745: [market('main', '0x061D8e131F26512348ee5FA42e2DF1bA9d6505E9', 0)],
  42161: [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 7_736_400)],
  42220: [market('main', '0x9F7Cf9417D5251C59fE94fB9147feEe1aAd9Cea5', 30_390_065)],
  43114: [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 11_970_000)],
  57073: [market('main', '0x4172E6aAEC070ACB31aaCE343A58c93E4C70f44D', 19_954_027)],
  59144: [market('main', '0x89502c3731F69DDC95B65753708A07F8Cd0373F4', 12_430_823)],
  534352: [market('main', '0x69850D0B276776781C063771b161bd8894BCdD04', 2_618_760)],
  1666600000: [market('main', '0xa97684ead0e402dC232d5A977953DF7ECBaB3CDb', 0)],
})

function market(name: string, poolAddressesProvider: Address, startBlock: number): AaveV3Deployment {
  return { market: name, poolAddressesProvider, startBlock }
}
