import type { Address } from 'viem'
import { byChain } from '../../chain/chain.ts'

/** One market of Compound V3: a Comet, which lends one base token against collaterals. */
export interface CompoundV3Market {
  /** Name in parameters and answers. */
  readonly market: string
  readonly comet: Address
  /** What pays the rewards of its accounts; absent if nothing does. */
  readonly rewards?: Address | undefined
  /** Block before which it has no events; 0 if unknown. */
  readonly startBlock: number
}

/**
 * Markets by chain id, as the folders of `deployments` in `compound-finance/comet` (d5a30b0a) call them, by the
 * `roots.json` in each; it has no first blocks. Base tokens, collaterals and terms are read from the chain, because
 * governance changes them.
 */
export const COMPOUND_V3_MARKETS: ReadonlyMap<number, readonly CompoundV3Market[]> = byChain({
  1: markets('0x1B0e765F6224C21223AeA2af16c1C46E38885a40', {
    usdc: '0xc3d688B66703497DAA19211EEdff47f25384cdc3',
    usds: '0x5D409e56D886231aDAf00c8775665AD0f9897b56',
    usdt: '0x3Afdc9BCA9213A35503b077a6072F3D0d5AB0840',
    wbtc: '0xe85Dc543813B8c2CFEaAc371517b925a166a9293',
    weth: '0xA17581A9E3356d9A858b789D68B4d866e593aE94',
    wsteth: '0x3D0bb1ccaB520A66e607822fC55BC921738fAFE3',
  }),
  10: markets('0x443EA0340cb75a160F31A440722dec7b5bc3C2E9', {
    usdc: '0x2e44e174f7D53F0212823acC11C01A11d58c5bCB',
    usdt: '0x995E394b8B2437aC8Ce61Ee0bC610D617962B214',
    weth: '0xE36A30D249f7761327fd973001A32010b521b6Fd',
  }),
  130: markets('0x6f7D514bbD4aFf3BcD1140B7344b32f063dEe486', {
    usdc: '0x2c7118c4C88B9841FCF839074c26Ae8f035f2921',
    weth: '0x6C987dDE50dB1dcDd32Cd4175778C2a291978E2a',
  }),
  137: markets('0x45939657d1CA34A8FA39A924B71D28Fe8431e581', {
    usdc: '0xF25212E676D1F7F89Cd72fFEe66158f541246445',
    usdt: '0xaeB318360f27748Acb200CE616E389A6C9409a07',
  }),
  2020: markets('0x31CdEe8609Bc15fD33cc525f101B70a81b2B1E59', {
    weth: '0x4006eD4097Ee51c09A04c3B0951D28CCf19e6DFE',
    wron: '0xc0Afdbd1cEB621Ef576BA969ce9D4ceF78Dbc0c0',
  }),
  5000: markets('0xCd83CbBFCE149d141A5171C3D6a0F0fCCeE225Ab', {
    usde: '0x606174f62cd968d8e684c645080fa694c1D7786E',
  }),
  8453: markets('0x123964802e6ABabBE1Bc9547D72Ef1B69B00A6b1', {
    aero: '0x784efeB622244d2348d4F2522f8860B96fbEcE89',
    usdbc: '0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf',
    usdc: '0xb125E6687d4313864e53df431d5425969c15Eb2F',
    usds: '0x2c776041CCFe903071AF44aa147368a9c8EEA518',
    weth: '0x46e6b214b524310239732D51387075E0e70970bf',
  }),
  42161: markets('0x88730d254A2f7e6AC8388c3198aFd694bA9f7fae', {
    'usdc.e': '0xA5EDBDD9646f8dFF606d7448e414884C7d905dCA',
    usdc: '0x9c4ec768c28520B50860ea7a15bd7213a9fF58bf',
    usdt: '0xd98Be00b5D27fc98112BdE293e487f8D4cA57d07',
    weth: '0x6f7D514bbD4aFf3BcD1140B7344b32f063dEe486',
  }),
  59144: markets('0x2c7118c4C88B9841FCF839074c26Ae8f035f2921', {
    usdc: '0x8D38A3d6B3c3B7d96D6536DA7Eef94A9d7dbC991',
    weth: '0x60F2058379716A64a7A5d29219397e79bC552194',
  }),
  534352: markets('0x70167D30964cbFDc315ECAe02441Af747bE0c5Ee', {
    usdc: '0xB2f97c1Bd3bf02f5e74d13f02E3e26F93D77CE44',
  }),
})

function markets(rewards: Address, comets: Readonly<Record<string, Address>>): readonly CompoundV3Market[] {
  return Object.entries(comets).map(([market, comet]) => ({ market, comet, rewards, startBlock: 0 }))
}
