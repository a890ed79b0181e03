import { byChain } from '../../../chain/table/by_chain.ts'
import type { UniswapV4Deployment } from './deployments.ts'

/**
 * Uniswap's own deployments by chain id. Source: `@uniswap/sdk-core` 7.19.4, checked by
 * `test/family/uniswap_v4/deployments_test.ts`. Blocks, of the manager that stood first: DefiLlama's adapter
 * (`projects/uniswap-v4`), and for 196, 42220 and 59144 `networks.json` of Uniswap's `v4-subgraph` (fc74dfc), which has
 * no earlier block for any chain.
 */
export const UNISWAP_V4_DEPLOYMENTS: ReadonlyMap<number, UniswapV4Deployment> = byChain({
  1: {
    positionManager: '0xbD216513d74C8cf14cf4747E6AaA6420FF64ee9e',
    poolManager: '0x000000000004444c5dc75cB358380D2e3dE08A90',
    startBlock: 21_688_329,
  },
  10: {
    positionManager: '0x3C3Ea4B57a46241e54610e5f022E5c45859A1017',
    poolManager: '0x9a13F98Cb987694C9F086b1F5eB990EeA8264Ec3',
    startBlock: 130_947_675,
  },
  56: {
    positionManager: '0x7A4a5c919aE2541AeD11041A1AEeE68f1287f95b',
    poolManager: '0x28e2Ea090877bF75740558f6BFB36A5ffeE9e9dF',
    startBlock: 45_970_610,
  },
  130: {
    positionManager: '0x4529A01c7A0410167c5740C487A8DE60232617bf',
    poolManager: '0x1F98400000000000000000000000000000000004',
    startBlock: 1,
  },
  137: {
    positionManager: '0x1Ec2eBf4F37E7363FDfe3551602425af0B3ceef9',
    poolManager: '0x67366782805870060151383F4BbFF9daB53e5cD6',
    startBlock: 66_980_384,
  },
  143: {
    positionManager: '0x5b7eC4a94fF9beDb700fb82aB09d5846972F4016',
    poolManager: '0x188d586Ddcf52439676Ca21A244753fA19F9Ea8e',
    startBlock: 29_255_895,
  },
  196: {
    positionManager: '0xcF1EAFC6928dC385A342E7C6491d371d2871458b',
    poolManager: '0x360E68faCcca8cA495c1B759Fd9EEe466db9FB32',
    startBlock: 46_106_401,
  },
  480: {
    positionManager: '0xC585E0f504613b5fBf874F21Af14c65260fB41fA',
    poolManager: '0xb1860D529182ac3BC1F51Fa2ABd56662b7D13f33',
    startBlock: 9_111_872,
  },
  1868: {
    positionManager: '0x1b35d13a2E2528f192637F14B05f0Dc0e7dEB566',
    poolManager: '0x360E68faCcca8cA495c1B759Fd9EEe466db9FB32',
    startBlock: 2_473_300,
  },
  4217: {
    positionManager: '0x3Fc79444F8EACc1894775493Ff3Fa41f1e35Ce11',
    poolManager: '0x33620f62C5b9B2086dD6b62F4A297A9f30347029',
    startBlock: 6_475_880,
  },
  4326: {
    positionManager: '0x9AE0921E981AAa7308f176F8d4F9129b9247C89D',
    poolManager: '0xaCB7e78fa05D562e0A5D3089ec896D57D057d38E',
    startBlock: 7_009_653,
  },
  4663: {
    positionManager: '0x58daec3116aae6D93017bAAea7749052E8a04fA7',
    poolManager: '0x8366a39CC670B4001A1121B8F6A443A643e40951',
    startBlock: 9_070,
  },
  5042: {
    positionManager: '0x6049c9a0e26405C0985f9E3685C87d0aE917f82B',
    poolManager: '0x8366a39CC670B4001A1121B8F6A443A643e40951',
    startBlock: 1_946_500,
  },
  8453: {
    positionManager: '0x7C5f5A4bBd8fD63184577525326123B519429bDc',
    poolManager: '0x498581fF718922c3f8e6A244956aF099B2652b2b',
    startBlock: 25_350_988,
  },
  42161: {
    positionManager: '0xd88F38F930b7952f2DB2432Cb002E7abbF3dD869',
    poolManager: '0x360E68faCcca8cA495c1B759Fd9EEe466db9FB32',
    startBlock: 297_842_872,
  },
  42220: {
    positionManager: '0xf7965f3981e4D5BC383BfBCb61501763e9068CA9',
    poolManager: '0x288dc841A52FCA2707c6947B3A777c5E56cd87BC',
    startBlock: 43_985_160,
  },
  43114: {
    positionManager: '0xB74b1F14d2754AcfcbBe1a221023a5cf50Ab8ACD',
    poolManager: '0x06380C0e0912312B5150364B9DC4542BA0DbBc85',
    startBlock: 56_195_376,
  },
  57073: {
    positionManager: '0x1b35d13a2E2528f192637F14B05f0Dc0e7dEB566',
    poolManager: '0x360E68faCcca8cA495c1B759Fd9EEe466db9FB32',
    startBlock: 4_580_556,
  },
  59144: {
    positionManager: '0xdDCAD5775B2816a87495f207731b3571D7EE3c76',
    poolManager: '0x248083Fb965359d82b06C1F5322480Dcfc1AD857',
    startBlock: 28_974_969,
  },
  81457: {
    positionManager: '0x4AD2F4CcA2682cBB5B950d660dD458a1D3f1bAaD',
    poolManager: '0x1631559198A9e474033433b2958daBC135ab6446',
    startBlock: 14_377_311,
  },
  7777777: {
    positionManager: '0xf66C7b99e2040f0D9b326B3b7c152E9663543D63',
    poolManager: '0x0575338e4C17006aE181B47900A84404247CA30f',
    startBlock: 25_434_534,
  },
})
