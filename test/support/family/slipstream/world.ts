import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  encodePacked,
  keccak256,
  parseAbi,
  zeroAddress,
} from 'viem'
import type { SlipstreamManager } from '../../../../src/family/slipstream/table.ts'
import { groupBy } from '../../../../src/lib/group_by.ts'
import type { RecordedCall } from '../../../devnet/replay.ts'
import vectors from './vectors.json'

/** What the real contracts of a generation said at a block, and paid later. Numbers are in decimal digits. */
export interface World {
  readonly generation: string
  readonly block: { readonly timestamp: string }
  readonly contracts: Readonly<Record<'factory' | 'manager' | 'voter' | 'gaugeFactory' | 'reward', Address>>
  readonly pools: Readonly<Record<Address, VectorPool>>
  readonly positions: readonly VectorPosition[]
}

interface VectorPool
  extends Readonly<Record<'token0' | 'token1' | 'gauge', Address>>,
    Readonly<Record<'tickSpacing' | 'tick' | 'fee' | 'unstakedFee' | 'minStakeTime' | 'penaltyRateBps', number>>,
    Readonly<
      Record<
        | 'sqrtPriceX96'
        | 'feeGrowthGlobal0X128'
        | 'feeGrowthGlobal1X128'
        | 'rewardGrowthGlobalX128'
        | 'gaugeRewardRate'
        | 'rewardReserve'
        | 'stakedLiquidity'
        | 'lastUpdated',
        string
      >
    > {
  readonly stakedValues: Readonly<Record<string, readonly string[]>>
}

type Outside = Readonly<Record<'feeGrowthOutside0X128' | 'feeGrowthOutside1X128' | 'rewardGrowthOutsideX128', string>>

type Stored = Readonly<
  Record<'liquidity' | 'feeGrowthInside0LastX128' | 'feeGrowthInside1LastX128' | 'tokensOwed0' | 'tokensOwed1', string>
>

/** A reward at a time; `paid` is what executing it paid. */
export interface VectorReward extends Readonly<Record<'timestamp' | 'gross' | 'penalty' | 'net', string>> {
  readonly contract?: string
  readonly paid?: string
}

export interface VectorPosition extends Stored {
  readonly id: string
  readonly wallet: Address
  readonly ownerOf: Address
  readonly staked: boolean
  readonly pool: Address
  readonly tickLower: number
  readonly tickUpper: number
  readonly lower: Outside
  readonly upper: Outside
  readonly poolPosition: Stored
  readonly payable: readonly [string, string]
  readonly collect?: { readonly paid: readonly [string, string] }
  readonly gaugePosition?: Readonly<
    Record<'rewardGrowthInside' | 'rewards' | 'lastUpdateTime' | 'depositTimestamp', string | null>
  >
  readonly earned?: VectorReward
  readonly getReward?: VectorReward
  readonly withdraw?: VectorReward
}

export const WORLDS = (vectors as unknown as { readonly worlds: readonly World[] }).worlds

/** The pools of a world, by address. */
export function listPools({ pools }: World): readonly (readonly [Address, VectorPool])[] {
  return Object.entries(pools) as [Address, VectorPool][]
}

/** A world's manager as a `CHAINS_FILE` describes it. */
export function toManager({ contracts, generation }: World): SlipstreamManager {
  return {
    manager: contracts.manager,
    factory: contracts.factory,
    voter: contracts.voter,
    startBlock: 0,
    code: `slipstream_${generation}`,
  }
}

const ABI = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function tokenOfOwnerByIndex(address, uint256) view returns (uint256)',
  'function ownerOf(uint256) view returns (address)',
  'function positions(uint256) view returns (uint96, address, address, address, int24, int24, int24, uint128, uint256, uint256, uint128, uint128)',
  'function getPool(address, address, int24) view returns (address)',
  'function slot0() view returns (uint160, int24, uint16, uint16, uint16, bool)',
  'function feeGrowthGlobal0X128() view returns (uint256)',
  'function feeGrowthGlobal1X128() view returns (uint256)',
  'function ticks(int24) view returns (uint128, int128, int128, uint256, uint256, uint256, int56, uint160, uint32, bool)',
  'function fee() view returns (uint24)',
  'function unstakedFee() view returns (uint24)',
  'function gauge() view returns (address)',
  'function factory() view returns (address)',
  'function rewardGrowthGlobalX128() view returns (uint256)',
  'function rewardReserve() view returns (uint256)',
  'function stakedLiquidity() view returns (uint128)',
  'function lastUpdated() view returns (uint32)',
  'function stakedLength(address) view returns (uint256)',
  'function stakedByIndex(address, uint256) view returns (uint256)',
  'function stakedContains(address, uint256) view returns (bool)',
  'function rewardRate() view returns (uint256)',
  'function rewardToken() view returns (address)',
  'function rewardGrowthInside(uint256) view returns (uint256)',
  'function rewards(uint256) view returns (uint256)',
  'function lastUpdateTime(uint256) view returns (uint256)',
  'function depositTimestamp(uint256) view returns (uint256)',
  'function gaugeFactory() view returns (address)',
  'function penaltyRate() view returns (uint256)',
  'function minStakeTimes(address) view returns (uint256)',
  'function length() view returns (uint256)',
  'function pools(uint256) view returns (address)',
  'function gauges(address) view returns (address)',
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
])
const POOL_POSITION = parseAbi([
  'function positions(bytes32) view returns (uint128, uint256, uint256, uint128, uint128)',
])

type Name = (typeof ABI)[number]['name']

/** Records that a contract answered a call with these values, or refused it. */
function record(
  to: string,
  functionName: Name,
  args: readonly unknown[],
  values: readonly unknown[] | undefined,
): RecordedCall {
  const { outputs } = ABI.find(({ name }) => name === functionName) ?? { outputs: [] }
  return {
    to: to as Address,
    data: encodeFunctionData({ abi: ABI, functionName, args } as Parameters<typeof encodeFunctionData>[0]),
    answer: values && encodeAbiParameters(outputs, values as never),
  }
}

/** Everything that the contracts of a world said, as calls. `hasLength`: the voter says how many pools it has. */
export function recordWorld(world: World, { hasLength = true }: { readonly hasLength?: boolean } = {}): RecordedCall[] {
  const { contracts, positions } = world
  const isYoung = world.generation === 'v3'
  const pools = listPools(world)
  const gauged = pools.filter(([, { gauge }]) => gauge !== zeroAddress)
  const wallets = new Set(positions.map(({ wallet }) => wallet))
  const tokens = new Set([...pools.flatMap(([, { token0, token1 }]) => [token0, token1]), contracts.reward])
  const owned = groupBy(positions, ({ ownerOf }) => ownerOf)
  const holders = new Set([...wallets, ...owned.keys()])
  const shared = new Map(
    // Ids of one range share the pool's position; those that are staked are the gauge's there.
    positions
      .toSorted((a, b) => Number(b.staked) - Number(a.staked))
      .map(({ pool, tickLower, tickUpper, poolPosition }) => {
        const key = keccak256(encodePacked(['address', 'int24', 'int24'], [contracts.manager, tickLower, tickUpper]))
        return [`${pool}:${key}`, { pool, key, poolPosition }] as const
      }),
  )
  return [
    ...[...holders].flatMap((wallet) => {
      const ids = owned.get(wallet) ?? []
      return [
        record(contracts.manager, 'balanceOf', [wallet], [BigInt(ids.length)]),
        ...ids.map(({ id }, index) =>
          record(contracts.manager, 'tokenOfOwnerByIndex', [wallet, BigInt(index)], [BigInt(id)]),
        ),
      ]
    }),
    record(contracts.manager, 'balanceOf', [zeroAddress], undefined),
    ...positions.flatMap((position) => recordPosition(world, position)),
    ...[...shared.values()].map(({ pool, key, poolPosition: stored }) => ({
      to: pool,
      data: encodeFunctionData({ abi: POOL_POSITION, functionName: 'positions', args: [key] }),
      answer: encodeAbiParameters(POOL_POSITION[0].outputs, [
        BigInt(stored.liquidity),
        BigInt(stored.feeGrowthInside0LastX128),
        BigInt(stored.feeGrowthInside1LastX128),
        BigInt(stored.tokensOwed0),
        BigInt(stored.tokensOwed1),
      ]),
    })),
    ...pools.flatMap(([address, pool]) => recordPool(world, address, pool)),
    ...gauged.flatMap(([address, pool]) => recordGauge(world, { address, pool, wallets, isYoung })),
    ...gauged.flatMap(([address, { gauge }], index) => [
      record(contracts.voter, 'pools', [BigInt(index)], [address]),
      record(contracts.voter, 'gauges', [address], [gauge]),
    ]),
    record(contracts.voter, 'length', [], hasLength ? [BigInt(gauged.length)] : undefined),
    record(contracts.voter, 'pools', [BigInt(gauged.length)], undefined),
    ...(isYoung
      ? gauged.flatMap(([address, { minStakeTime, penaltyRateBps }]) => [
          record(contracts.gaugeFactory, 'penaltyRate', [], [BigInt(penaltyRateBps)]),
          record(contracts.gaugeFactory, 'minStakeTimes', [address], [BigInt(minStakeTime)]),
        ])
      : []),
    ...[...tokens].flatMap((token, index) => [
      record(token, 'name', [], [`Token ${index}`]),
      record(token, 'symbol', [], [`T${index}`]),
      record(token, 'decimals', [], [18]),
    ]),
  ]
}

function recordPosition({ contracts, pools }: World, position: VectorPosition): RecordedCall[] {
  const { id, ownerOf, tickLower, tickUpper, lower, upper } = position
  const pool = pools[position.pool]
  if (pool === undefined) throw new Error(`Cannot find the pool of position ${id}`)
  const ticks = [
    [tickLower, lower],
    [tickUpper, upper],
  ] as const
  return [
    record(contracts.manager, 'ownerOf', [BigInt(id)], [ownerOf]),
    record(
      contracts.manager,
      'positions',
      [BigInt(id)],
      [
        0n,
        zeroAddress,
        pool.token0,
        pool.token1,
        pool.tickSpacing,
        tickLower,
        tickUpper,
        BigInt(position.liquidity),
        BigInt(position.feeGrowthInside0LastX128),
        BigInt(position.feeGrowthInside1LastX128),
        BigInt(position.tokensOwed0),
        BigInt(position.tokensOwed1),
      ],
    ),
    ...ticks.map(([tick, outside]) =>
      record(
        position.pool,
        'ticks',
        [tick],
        [
          1n,
          1n,
          // A reader of Uniswap V3 would take this for fees.
          7n,
          BigInt(outside.feeGrowthOutside0X128),
          BigInt(outside.feeGrowthOutside1X128),
          BigInt(outside.rewardGrowthOutsideX128),
          0n,
          0n,
          0,
          true,
        ],
      ),
    ),
  ]
}

function recordPool({ contracts }: World, address: Address, pool: VectorPool): RecordedCall[] {
  return [
    record(contracts.factory, 'getPool', [pool.token0, pool.token1, pool.tickSpacing], [address]),
    record(address, 'factory', [], [contracts.factory]),
    record(address, 'slot0', [], [BigInt(pool.sqrtPriceX96), pool.tick, 0, 1, 1, true]),
    record(address, 'feeGrowthGlobal0X128', [], [BigInt(pool.feeGrowthGlobal0X128)]),
    record(address, 'feeGrowthGlobal1X128', [], [BigInt(pool.feeGrowthGlobal1X128)]),
    record(address, 'fee', [], [pool.fee]),
    record(address, 'unstakedFee', [], [pool.unstakedFee]),
    record(address, 'gauge', [], [pool.gauge]),
    record(address, 'rewardGrowthGlobalX128', [], [BigInt(pool.rewardGrowthGlobalX128)]),
    record(address, 'rewardReserve', [], [BigInt(pool.rewardReserve)]),
    record(address, 'stakedLiquidity', [], [BigInt(pool.stakedLiquidity)]),
    record(address, 'lastUpdated', [], [Number(pool.lastUpdated)]),
  ]
}

function recordGauge(
  { contracts, positions }: World,
  options: {
    readonly address: Address
    readonly pool: VectorPool
    readonly wallets: ReadonlySet<string>
    readonly isYoung: boolean
  },
): RecordedCall[] {
  const { address, pool, wallets, isYoung } = options
  const { gauge } = pool
  const staked = pool.stakedValues
  const held = positions.filter(({ ownerOf }) => ownerOf === gauge)
  return [
    record(gauge, 'rewardRate', [], [BigInt(pool.gaugeRewardRate)]),
    record(gauge, 'rewardToken', [], [contracts.reward]),
    record(gauge, 'gaugeFactory', [], [contracts.gaugeFactory]),
    ...[...wallets].flatMap((wallet) => {
      // The file has two thirds of the positions.
      const ids = (staked[wallet] ?? []).filter((each) => held.some(({ id }) => id === each))
      return [
        record(gauge, 'stakedLength', [wallet], [BigInt(ids.length)]),
        ...ids.map((id, index) => record(gauge, 'stakedByIndex', [wallet, BigInt(index)], [BigInt(id)])),
        ...held.map(({ id }) => record(gauge, 'stakedContains', [wallet, BigInt(id)], [ids.includes(id)])),
      ]
    }),
    ...held.flatMap(({ id, pool: own, gaugePosition }) => {
      if (own !== address) throw new Error(`Cannot record position ${id}: its gauge is of another pool`)
      return [
        record(gauge, 'rewardGrowthInside', [BigInt(id)], [BigInt(gaugePosition?.rewardGrowthInside ?? 0)]),
        record(gauge, 'rewards', [BigInt(id)], [BigInt(gaugePosition?.rewards ?? 0)]),
        record(gauge, 'lastUpdateTime', [BigInt(id)], [BigInt(gaugePosition?.lastUpdateTime ?? 0)]),
        record(
          gauge,
          'depositTimestamp',
          [BigInt(id)],
          isYoung ? [BigInt(gaugePosition?.depositTimestamp ?? 0)] : undefined,
        ),
      ]
    }),
  ]
}
