import type { Address } from 'viem'
import { byChain } from '../../chain/chain.ts'

/** Aave V4 on one chain. Its hubs follow from the spokes' reserves. */
export interface AaveV4Deployment {
  /** Names all spokes, also those that are added later. */
  readonly accessManager: Address
  readonly spokes: readonly AaveV4Spoke[]
}

/** A spoke: where wallets supply and borrow, each in one account. */
export interface AaveV4Spoke {
  /** Name in parameters and answers. */
  readonly name: string
  readonly address: Address
  /** Block before which it has no events; 0 if unknown. */
  readonly startBlock: number
}

/**
 * Deployments by chain id. Spokes are called as in the address book, without `_SPOKE` or `_ESPOKE`.
 *
 * Sources: `@aave-dao/aave-address-book` 4.68.1, checked by `test/unit/family/aave_v4/deployments_test.ts`; Base is not
 * in it, but in two copies of a later one and in the DAO's permissions list, which agree. Blocks: that list's creation
 * of the access manager, which is older than every spoke.
 */
export const AAVE_V4_DEPLOYMENTS: ReadonlyMap<number, AaveV4Deployment> = byChain({
  1: deployment('0x08aE3BE30958cDd1847ec58fFfd4C451a87fDF01', 24_720_870, {
    main: '0x94e7A5dCbE816e498b89aB752661904E2F56c485',
    bluechip: '0x973a023A77420ba610f06b3858aD991Df6d85A08',
    'ethena-correlated': '0x58131E79531caB1d52301228d1f7b842F26B9649',
    'ethena-ecosystem': '0xba1B3D55D249692b669A164024A838309B7508AF',
    forex: '0xD8B93635b8C6d0fF98CbE90b5988E3F2d1Cd9da1',
    gold: '0x65407b940966954b23dfA3caA5C0702bB42984DC',
    'lombard-btc': '0x7EC68b5695e803e98a21a9A05d744F28b0a7753D',
    'paxg-gold': '0xAD75cE6354f87F3135cE10621d385d8D1e2562C2',
    'usdg-pendle': '0x956d8e0A89cfa3744428C4641b5a53B56167a7f9',
    etherfi: '0xbF10BDfE177dE0336aFD7fcCF80A904E15386219',
    kelp: '0x3131FE68C4722e726fe6B2819ED68e514395B9a4',
    lido: '0xe1900480ac69f0B296841Cd01cC37546d92F35Cd',
    'usdg-maple': '0x774b9655413c34809c1f1b16b654465A89EBE989',
  }),
  5042: deployment('0x24761DB265998ba1D38E8a29031cF72C2CeF3A7D', 18_791_458, {
    main: '0xB843bdC3a87A05E77E07Df9FE48928b3A34b134d',
    forex: '0x4164EBCAF74670aa74C8D4F59de6157c0780F1bB',
  }),
  8453: deployment('0x4010C94698EDE9d895814502B6EB122D764a1Cc6', 51_478_811, {
    mag7: '0x17905Db0e4A3514467539956c084180616AE7B8D',
  }),
  43114: deployment('0xe069096bDAfF9bAD15b2f1079EaF0f1685a24522', 89_721_317, {
    main: '0x435272CefF93a1E657E8ABfdf0A13e95900A3a56',
    forex: '0x6a37776B5E026dBdF043b4F933c323C84DD1B514',
    'avax-correlated': '0x3b517594277c67307CF2d7CBE6FE1D4399B68c41',
  }),
})

/** Names of the built-in chains' hubs, from the same sources, as in the address book without `_HUB`. */
export const HUB_NAMES: ReadonlyMap<Address, string> = new Map([
  ['0xCca852Bc40e560adC3b1Cc58CA5b55638ce826c9', 'core'],
  ['0x06002e9c4412CB7814a791eA3666D905871E536A', 'plus'],
  ['0x943827DCA022D0F354a8a8c332dA1e5Eb9f9F931', 'prime'],
  ['0x62d63197660c080236193CA60b70E49A08E90368', 'global-dollar'],
  ['0x17288dfc86205301064577b98B02b81017e6F79C', 'core'],
  ['0xa4d5947Eb727A052bae69C593FfC84247EC9864E', 'equities'],
  ['0xd07369fAE4A5BB13c9Ce446B052c7867B1AbDf6e', 'core'],
])

function deployment(
  accessManager: Address,
  startBlock: number,
  spokes: Readonly<Record<string, Address>>,
): AaveV4Deployment {
  return {
    accessManager,
    spokes: Object.entries(spokes).map(([name, address]) => ({ name, address, startBlock })),
  }
}
