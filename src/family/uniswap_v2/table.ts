import type { Address } from 'viem'

/** A factory of Uniswap V2: of its pairs it says itself that they are its own. */
export interface UniswapV2Factory {
  readonly factory: Address
  /** Block before which it has no pairs; 0 if unknown. */
  readonly startBlock: number
}

/** Uniswap's own factories by chain id, by `@uniswap/sdk-core`. Forks share their fee with their protocol otherwise. */
const FACTORIES: Readonly<Record<number, Address>> = {
  1: '0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f',
  10: '0x0c3c1c532F1e39EdF36BE9Fe0bE1410313E074Bf',
  56: '0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6',
  130: '0x1F98400000000000000000000000000000000002',
  137: '0x9e5A52f57b3038F1B8EeE45F28b3C1967e22799C',
  143: '0x182a927119D56008d921126764bF884221b10f59',
  196: '0xDf38F24fE153761634Be942F9d859f3DBA857E95',
  480: '0x5C69bEe701ef814a2B6a3EDD4B1652CB9cc5aA6f',
  1868: '0x97FeBbC2AdBD5644ba22736E962564B23F5828CE',
  4217: '0xf9EC577a4E45B5278BB7Cf60FCBc20c3acAef68f',
  4326: '0xbf56488c857A881ae7e3BED27Cf99c10A7Ab7e50',
  4663: '0x8bcEaA40B9AcdfAedF85AdF4FF01F5Ad6517937f',
  5042: '0x89e5DB8B5aA49aA85AC63f691524311AEB649eba',
  8453: '0x8909Dc15e40173Ff4699343b6eB8132c65e18eC6',
  42161: '0xf1D7CC64Fb4452F05c498126312eBE29f30Fbcf9',
  42220: '0x79a530c8e2fA8748B7B40dd3629C0520c2cCf03f',
  43114: '0x9e5A52f57b3038F1B8EeE45F28b3C1967e22799C',
  57073: '0xfe57A6BA1951F69aE2Ed4abe23e0f095DF500C04',
  59144: '0x114A43DF6C5f54EBB8A9d70Cd1951D3dD68004c7',
  81457: '0x5C346464d33F90bABaf70dB6388507CC889C1070',
}

export const UNISWAP_V2_FACTORIES: ReadonlyMap<number, readonly UniswapV2Factory[]> = new Map(
  Object.entries(FACTORIES).map(([id, factory]) => [Number(id), [{ factory, startBlock: 0 }]]),
)
