import { beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import {
  type Address,
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  encodePacked,
  type Hex,
  keccak256,
  pad,
  parseAbi,
  slice,
  toHex,
  zeroAddress,
} from 'viem'
import type { Position } from '../../../../src/family/liquidity/enumerable/read/position.ts'
import { createHoldingsReader } from '../../../../src/family/liquidity/holdings.ts'
import type { WithdrawnReader } from '../../../../src/family/liquidity/withdrawn.ts'
import { computeMasterChefReward } from '../../../../src/family/uniswap_v3/math.ts'
import { PROTOCOL } from '../../../../src/family/uniswap_v3/protocol.ts'
import { minBigint } from '../../../../src/lib/number/fixed_point.ts'
import { ownCreationCode } from '../../../devnet/artifacts.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, sharedDevnet } from '../../../devnet/mod.ts'
import {
  computeFigures,
  countedClient,
  createTestReader,
  patient,
  toWhole,
} from '../../../support/family/uniswap_v3/support.ts'
import { readHoldings } from '../../../support/holdings.ts'

/*
 * What the real MasterChefs, of npm and of the repository, said and paid for every position of two worlds. The lens reads
 * contracts that answer what theirs did; `paid` are differences of token balances, each executed alone.
 */

type Growth = Readonly<Record<'feeGrowthOutside0X128' | 'feeGrowthOutside1X128', string>>
/** `paid` is absent where the MasterChef refused, since nothing was due. */
type Paid = { readonly timestamp: string; readonly paid?: string }
type Stored = Readonly<
  Record<'liquidity' | 'feeGrowthInside0LastX128' | 'feeGrowthInside1LastX128' | 'tokensOwed0' | 'tokensOwed1', string>
>

interface Recorded extends Stored {
  readonly id: string
  readonly wallet: Address
  readonly ownerOf: Address
  readonly staked: boolean
  readonly pool: Address
  readonly tickLower: number
  readonly tickUpper: number
  readonly lower: Growth
  readonly upper: Growth
  readonly poolPosition: Stored
  readonly payable: readonly [string, string]
  readonly farm?: Readonly<
    Record<
      | 'liquidity'
      | 'boostLiquidity'
      | 'rewardGrowthInside'
      | 'reward'
      | 'pid'
      | 'boostMultiplier'
      | 'lmLower'
      | 'lmUpper',
      string
    > & { readonly user: Address }
  >
  readonly pendingCake?: { readonly contract: string }
  readonly harvest?: Paid
  readonly withdraw?: Paid
}

interface RecordedPool {
  readonly token0: Address
  readonly token1: Address
  readonly fee: number
  readonly sqrtPriceX96: string
  readonly tick: number
  readonly feeGrowthGlobal0X128: string
  readonly feeGrowthGlobal1X128: string
  readonly lmPool: Address | null
  readonly lm?: {
    readonly rewardGrowthGlobalX128: string
    readonly lmLiquidity: string
    readonly lastRewardTimestamp: number
  }
  readonly cakePerSecondE12?: string
  readonly periodEnd?: string
}

interface World {
  readonly masterChef: string
  readonly contracts: Readonly<Record<'factory' | 'manager' | 'masterChef' | 'reward', Address>>
  readonly pools: Readonly<Record<Address, RecordedPool>>
  readonly positions: readonly Recorded[]
}

const ABI = parseAbi([
  'function balanceOf(address) view returns (uint256)',
  'function tokenOfOwnerByIndex(address, uint256) view returns (uint256)',
  'function ownerOf(uint256) view returns (address)',
  'function positions(uint256) view',
  'function getPool(address, address, uint24) view returns (address)',
  'function slot0() view',
  'function feeGrowthGlobal0X128() view returns (uint256)',
  'function feeGrowthGlobal1X128() view returns (uint256)',
  'function ticks(int24) view',
  'function lmPool() view returns (address)',
  'function rewardGrowthGlobalX128() view returns (uint256)',
  'function lmLiquidity() view returns (uint128)',
  'function lastRewardTimestamp() view returns (uint32)',
  'function lmTicks(int24) view',
  'function userPositionInfos(uint256) view',
  'function CAKE() view returns (address)',
  'function emergency() view returns (bool)',
  'function getLatestPeriodInfo(address) view',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function decimals() view returns (uint8)',
])
const POOL_POSITION = parseAbi(['function positions(bytes32) view'])
const { worlds } = (await Bun.file(
  join(import.meta.dir, '../../../support/family/uniswap_v3/masterchef.json'),
).json()) as { readonly worlds: readonly World[] }
/** More CAKE than all positions are owed. */
const FUNDS = 10n ** 40n

let devnet: Devnet
beforeAll(async () => {
  devnet = await sharedDevnet()
}, 60_000)

const toWords = (...values: readonly (bigint | number | string)[]): Hex =>
  concatHex(values.map((value) => toHex(BigInt.asUintN(256, BigInt(value)), { size: 32 })))
const toText = (text: string): Hex => encodeAbiParameters([{ type: 'string' }], [text])

/** Puts the recorded answers of all contracts of a world where they stood. */
async function placeWorld({ contracts, pools, positions }: World, funds: bigint): Promise<void> {
  const { manager, factory, masterChef, reward } = contracts
  const runtime = await devnet.rpc.call<Hex>('eth_call', { data: ownCreationCode('Recorded') }, 'latest')
  const codes = new Map<string, Hex>()
  const places = new Set<Address>()
  function answerRaw(to: Address, question: Hex, answer: Hex): void {
    if (!places.has(to)) codes.set(to, runtime)
    places.add(to)
    codes.set(slice(keccak256(encodePacked(['address', 'bytes'], [to, question])), 12), answer)
  }
  function answer(to: Address, functionName: (typeof ABI)[number]['name'], args: readonly unknown[], data: Hex): void {
    answerRaw(to, encodeFunctionData({ abi: ABI, functionName, args } as never), data)
  }
  const wallets = [...new Set(positions.map(({ wallet }) => wallet))]
  for (const wallet of wallets) {
    for (const holder of [manager, masterChef]) {
      const held = positions.filter((each) =>
        holder === manager ? each.ownerOf === wallet : each.ownerOf === masterChef && each.farm?.user === wallet,
      )
      answer(holder, 'balanceOf', [wallet], toWords(held.length))
      for (const [index, { id }] of held.entries())
        answer(holder, 'tokenOfOwnerByIndex', [wallet, BigInt(index)], toWords(id))
    }
  }
  answer(masterChef, 'CAKE', [], toWords(reward))
  answer(masterChef, 'emergency', [], toWords(0))
  const tokens = new Set([reward, ...Object.values(pools).flatMap(({ token0, token1 }) => [token0, token1])])
  for (const token of tokens) {
    answer(token, 'symbol', [], toText('TKN'))
    answer(token, 'name', [], toText('Token'))
    answer(token, 'decimals', [], toWords(18))
  }
  answer(reward, 'balanceOf', [masterChef], toWords(funds))
  for (const [address, pool] of Object.entries(pools) as [Address, RecordedPool][]) {
    const { token0, token1, fee, lmPool, lm, cakePerSecondE12 = 0, periodEnd = 0 } = pool
    answer(factory, 'getPool', [token0, token1, fee], toWords(address))
    answer(address, 'slot0', [], toWords(pool.sqrtPriceX96, pool.tick, 0, 0, 0, 0, 1))
    answer(address, 'feeGrowthGlobal0X128', [], toWords(pool.feeGrowthGlobal0X128))
    answer(address, 'feeGrowthGlobal1X128', [], toWords(pool.feeGrowthGlobal1X128))
    answer(address, 'lmPool', [], toWords(lmPool ?? zeroAddress))
    answer(masterChef, 'getLatestPeriodInfo', [address], toWords(cakePerSecondE12, periodEnd))
    if (lmPool === null || lm === undefined) continue
    answer(lmPool, 'rewardGrowthGlobalX128', [], toWords(lm.rewardGrowthGlobalX128))
    answer(lmPool, 'lmLiquidity', [], toWords(lm.lmLiquidity))
    answer(lmPool, 'lastRewardTimestamp', [], toWords(lm.lastRewardTimestamp))
  }
  for (const each of positions) {
    const pool = pools[each.pool]
    if (pool === undefined) throw new Error(`Cannot place position ${each.id}: its pool is not recorded`)
    const id = BigInt(each.id)
    const { tickLower, tickUpper, farm, poolPosition } = each
    const toStored = (stored: Stored) => [
      stored.liquidity,
      stored.feeGrowthInside0LastX128,
      stored.feeGrowthInside1LastX128,
      stored.tokensOwed0,
      stored.tokensOwed1,
    ]
    const state = [0, 0, pool.token0, pool.token1, pool.fee, tickLower, tickUpper, ...toStored(each)]
    answer(manager, 'positions', [id], toWords(...state))
    answer(manager, 'ownerOf', [id], toWords(each.ownerOf))
    const range = encodePacked(['address', 'int24', 'int24'], [manager, tickLower, tickUpper])
    const question = encodeFunctionData({ abi: POOL_POSITION, args: [keccak256(range)] })
    answerRaw(each.pool, question, toWords(...toStored(poolPosition)))
    const ends = [
      [tickLower, each.lower, farm?.lmLower],
      [tickUpper, each.upper, farm?.lmUpper],
    ] as const
    for (const [tick, { feeGrowthOutside0X128, feeGrowthOutside1X128 }, lmOutside] of ends) {
      answer(each.pool, 'ticks', [tick], toWords(0, 0, feeGrowthOutside0X128, feeGrowthOutside1X128))
      if (pool.lmPool !== null && lmOutside !== undefined)
        answer(pool.lmPool, 'lmTicks', [tick], toWords(0, 0, lmOutside))
    }
    const info = farm && [
      ...[farm.liquidity, farm.boostLiquidity, tickLower, tickUpper, farm.rewardGrowthInside, farm.reward],
      ...[farm.user, farm.pid, farm.boostMultiplier],
    ]
    answer(masterChef, 'userPositionInfos', [id], info ? toWords(...info) : pad('0x', { size: 288 }))
  }
  await devnet.rpc.batch([...codes].map((params) => ({ method: 'anvil_setCode', params })))
}

function createWorldReader({ contracts: { manager, factory, masterChef } }: World) {
  const custodians = [{ kind: 'masterchef', address: masterChef, startBlock: 0 }]
  const deployments = [{ manager, factory, startBlock: 0, code: 'pancakeswap_v3', custodians }]
  const { client } = countedClient(createDevnetChain(devnet))
  return { client, ...createTestReader(client, { deployments }) }
}

async function readWorld(world: World): Promise<readonly Position[]> {
  const { reader, targets } = createWorldReader(world)
  const { positions } = world
  const found: Position[] = []
  for (const wallet of new Set(positions.map((each) => each.wallet))) {
    const [read] = await reader.readWallet(wallet, { targets, work: patient })
    if (read === undefined) throw new Error('Cannot read the world')
    expect(read.unreadable).toEqual([])
    const whole = toWhole([...read.positions])
    expect(whole.every(({ owner }) => owner.toLowerCase() === wallet.toLowerCase())).toBe(true)
    found.push(...whole)
  }
  return found
}

/** What a position is due when it is read. */
function computeDue(position: Position): bigint {
  return (position.rewards ?? []).reduce((sum, { words }) => sum + computeMasterChefReward(words, position).amount, 0n)
}

/** What claiming pays at a time: the state does not change until then. */
function computePaid(position: Position, timestamp: string): string[] {
  return (position.rewards ?? []).map(({ words: [, ...words] }) =>
    String(computeMasterChefReward([BigInt(timestamp), ...words], position).amount),
  )
}

for (const world of worlds) {
  describe(`MasterChef: ${world.masterChef}`, () => {
    let positions: readonly Position[]
    beforeAll(async () => {
      await placeWorld(world, FUNDS)
      positions = await readWorld(world)
    }, 60_000)

    test('every position is of the wallet that can withdraw it, and of no other', () => {
      const { masterChef } = world.contracts
      const byId = new Map(world.positions.map((each) => [each.id, each]))
      expect(positions.map(({ tokenId }) => String(tokenId)).toSorted()).toEqual([...byId.keys()].toSorted())
      for (const { tokenId, custodian } of positions) {
        const isStaked = byId.get(String(tokenId))?.staked
        expect([tokenId, custodian?.address]).toEqual([tokenId, isStaked ? masterChef : undefined])
      }
    })

    test('fees go on while it is staked: each collect paid what is told', () => {
      for (const { id, payable } of world.positions) {
        const position = positions.find(({ tokenId }) => String(tokenId) === id)
        if (position === undefined) throw new Error(`Cannot find position ${id}`)
        const { amount0, amount1 } = computeFigures(position).owed
        expect([id, String(amount0), String(amount1)]).toEqual([id, ...payable])
      }
    })

    test('each harvest and withdrawal paid the CAKE that is told, where pendingCake says less', () => {
      let [paid, stale] = [0, 0]
      for (const { id, farm, harvest, withdraw, pendingCake } of world.positions) {
        const position = positions.find(({ tokenId }) => String(tokenId) === id)
        if (position === undefined) throw new Error(`Cannot find position ${id}`)
        expect([id, position.rewards?.length ?? 0]).toEqual([id, farm === undefined ? 0 : 1])
        for (const each of [harvest, withdraw]) {
          if (each === undefined) continue
          expect([id, ...computePaid(position, each.timestamp)]).toEqual([id, each.paid ?? '0'])
          paid++
        }
        if (harvest !== undefined && BigInt(harvest.paid ?? 0) > BigInt(pendingCake?.contract ?? 0)) stale++
      }
      expect({ arePaid: paid >= 80, areStale: stale >= 10 }).toEqual({ arePaid: true, areStale: true })
    })

    test('a portfolio counts what the MasterChef has once, however many positions are due it', async () => {
      const funds = 7n
      await placeWorld(world, funds)
      const { client, reader } = createWorldReader(world)
      const readWithdrawn: WithdrawnReader<Position> = (asked) => Promise.resolve(asked.map(() => undefined))
      const holdings = createHoldingsReader(PROTOCOL, { reader, readWithdrawn })
      let sharedBy = 0
      for (const wallet of new Set(world.positions.map((each) => each.wallet))) {
        const own = positions.filter(({ owner }) => owner.toLowerCase() === wallet.toLowerCase())
        const due = own.map(computeDue).filter((amount) => amount > 0n)
        if (due.length > 1) sharedBy++
        const held = await readHoldings(holdings, client, { wallet })
        const rewards = held?.rows.filter(({ position }) => position['part'] === 'rewards') ?? []
        const total = due.reduce((sum, amount) => sum + amount, 0n)
        expect(rewards.reduce((sum, { amount }) => sum + amount, 0n)).toBe(minBigint(total, funds))
      }
      expect(sharedBy).toBeGreaterThan(1)
    })
  })
}
