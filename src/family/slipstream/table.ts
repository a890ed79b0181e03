import type { Address } from 'viem'
import { byChain } from '../../chain/chain.ts'
import { memoize } from '../../lib/memoize.ts'
import type { EnumerableDeployment } from '../liquidity/enumerable/exchange.ts'

/** A position manager of Slipstream, as a `CHAINS_FILE` describes it. */
export interface SlipstreamManager {
  readonly manager: Address
  readonly factory: Address
  /** Lists the pools that have a gauge; absent where no pool has one. */
  readonly voter?: Address | undefined
  readonly startBlock: number
  readonly code: string
}

type Contracts = readonly [manager: Address, factory: Address, startBlock: number]

/** Managers by code. */
type Managers = Readonly<Record<string, Contracts>>

const AERODROME: Managers = {
  aerodrome_slipstream: [
    '0x827922686190790b37229fd06084350E74485b72',
    '0x5e7BB104d84c7CB9B682AaC2F3d509f5F406809A',
    13_843_719,
  ],
  aerodrome_slipstream_v2: [
    '0xa990C6a764b73BF43cee5Bb40339c3322FB9D55F',
    '0xaDe65c38CD4849aDBA595a4323a8C7DdfE89716a',
    0,
  ],
  aerodrome_slipstream_v3: [
    '0xe1f8cd9AC4e4A65F54f38a5CdAfCA44f6dD68b53',
    '0xf8f2eB4940CFE7d13603DDDD87f123820Fc061Ef',
    0,
  ],
}

const VELODROME: Managers = {
  velodrome_slipstream_v0: [
    '0xbB5DFE1380333CEE4c2EeBd7202c80dE2256AdF4',
    '0x548118C7E0B865C2CfA94D15EC86B666468ac758',
    0,
  ],
  velodrome_slipstream: ['0x416b433906b1B72FA758e166e239c43d68dC6F29', '0xCc0bDDB707055e04e497aB22a59c2aF4391cd12F', 0],
  velodrome_slipstream_v2: [
    '0xf7f8ccce99Ca2896eC75D3A399D152dB96808399',
    '0xe13Dd1fbA721Aa81a1826D9523AC9BC7d260c879',
    150_584_109,
  ],
}

/** On all leaf chains the contracts have the same addresses; the first block of the older manager differs. */
const listLeaf = (startBlock: number): Managers => ({
  velodrome_slipstream: [
    '0x991d5546C4B442B4c5fdc4c8B8b8d131DEB24702',
    '0x04625B046C69577EfC40e6c0Bb83CDBAfab5a55F',
    startBlock,
  ],
  velodrome_slipstream_v2: [
    '0xefD0f78F93f578036AE34D52A813a4BE7D8D2D52',
    '0x718E46d0962A66942E233760a8bd6038Ce54EdCD',
    0,
  ],
})

const LEAF_VOTER: Address = '0x97cDBCe21B6fd0585d29E539B1B99dAd328a1123'

const CHAINS = byChain<readonly [voter: Address, managers: Managers]>({
  10: ['0x41C914ee0c7E1A5edCD0295623e6dC557B5aBf3C', VELODROME],
  130: [LEAF_VOTER, listLeaf(0)],
  252: [LEAF_VOTER, listLeaf(0)],
  1135: [LEAF_VOTER, listLeaf(0)],
  1750: [LEAF_VOTER, listLeaf(0)],
  1868: [LEAF_VOTER, listLeaf(0)],
  1923: [LEAF_VOTER, listLeaf(3_718_342)],
  5330: [LEAF_VOTER, listLeaf(0)],
  8453: ['0x16613524e02ad97eDfeF371bC883F2F5d6C480A5', AERODROME],
  34443: [LEAF_VOTER, listLeaf(0)],
  42220: [LEAF_VOTER, listLeaf(31_597_000)],
  57073: [LEAF_VOTER, listLeaf(0)],
})

/**
 * Managers by chain id. Sources: READMEs of aerodrome-finance/slipstream and velodrome-finance/slipstream (193a6b8),
 * `config.yaml` of velodrome-finance/indexer (fcf9a8), deployments of velodrome-finance/sugar (9348d8e) and
 * superchain-slipstream (7d42e6f). `velodrome_slipstream_v0` is v1.1.1 of the second (its README at 3e8add8). Blocks: 0 if
 * no source has one.
 */
export const SLIPSTREAM_MANAGERS: ReadonlyMap<number, readonly SlipstreamManager[]> = new Map(
  [...CHAINS].map(([chainId, [voter, managers]]) => [
    chainId,
    Object.entries(managers).map(([code, [manager, factory, startBlock]]) => ({
      manager,
      factory,
      voter,
      startBlock,
      code,
    })),
  ]),
)

/**
 * Converts managers to deployments. A voter stands for the gauges that it lists: what they hold earns no fees, which are
 * the voters' instead.
 */
export const toDeployments = memoize((managers: readonly SlipstreamManager[]): readonly EnumerableDeployment[] => {
  const registries = new Map(
    managers.flatMap(({ voter }) =>
      voter === undefined ? [] : [[voter, { address: voter, kind: 'gauge', startBlock: 0, takesFees: true }] as const],
    ),
  )
  return managers.map(({ voter, ...contracts }) => {
    const registry = voter && registries.get(voter)
    return { ...contracts, ...(registry && { registry }) }
  })
})
