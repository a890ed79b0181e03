import { encodeFunctionData, erc20Abi } from 'viem'
import { BANK, TOKENS } from '../../../../devnet/addresses.ts'
import { fundBank } from '../../../../devnet/contracts.ts'
import type { Devnet } from '../../../../devnet/mod.ts'
import type { Transaction } from '../../../../devnet/transaction.ts'
import type { Pool } from '../../../../devnet/uniswap_v3_calls.ts'
import {
  createStage,
  type Placed,
  POOL_ABI,
  type QuoteToken,
  type Side,
  type Stage,
  type StagedPool,
  World,
} from './stage.ts'

/*
 * Attacks for tests that ask the routes: each is played before a midnight, against a token on either side of its pools,
 * and undone after it.
 */

const { usdc, dai } = TOKENS
export const DAY_SEC = 86_400
/** Dollars on the quote side of the honest pool, and of the token. */
const HONEST_USD = 100_000
export const TOKEN_USD = 2
const BLOCK_SEC = 60
/** Before the first step of an attack. */
const LEAD_SEC = 60
/** From the last steps of an attack to its midnight. */
const MARGIN_SEC = 30

/** A token with an honest pool of one observation, and the pools that an attacker makes. */
export interface AttackedToken {
  readonly side: Side
  readonly world: World
  readonly honest: StagedPool
}

/** What an attack does so long before its midnight. */
interface Step {
  readonly beforeSec: number
  /** Returns what stands until the midnight has passed. */
  readonly act: (token: AttackedToken) => Promise<Placed | undefined>
}

/** An attack, and what is told of a token of 2 dollars in the last block before the midnight. */
export interface Attack {
  readonly name: string
  readonly steps: readonly Step[]
  /** Factors of the right price. */
  readonly asset: number
  readonly debt: number
  /** US dollars that all holdings of the token count at most, if that is less than the honest pool pays. */
  readonly bound?: number
  /** Where the price of the honest pool is then, as a factor. */
  readonly pushed?: number
}

async function findPool(world: World, quote: QuoteToken, fee: number, usd: number): Promise<StagedPool> {
  const known = world.pools.find((pool) => pool.quote === quote && pool.fee === fee)
  return known ?? (await world.pool(quote, fee, usd, 300))
}

interface OwnPool {
  readonly quote: QuoteToken
  readonly fee: number
  readonly usd: number
}

/** The attacker places dollars in a pool of its own, between ticks around its price: both sides without them. */
const place =
  ({ quote, fee, usd }: OwnPool, dollars: number, [low, high]: readonly [number, number] = [-300, 301]) =>
  async ({ world }: AttackedToken) => {
    const pool = await findPool(world, quote, fee, usd)
    const tick = world.tick(usd, quote)
    return await world.add(world.attacker, pool, tick + low, tick + high, dollars)
  }

const placeForOneBlock = (pool: OwnPool, dollars: number) => async (token: AttackedToken) => {
  await token.world.take(await place(pool, dollars)(token))
  return undefined
}

const push =
  (...prices: readonly number[]) =>
  async ({ world, honest }: AttackedToken) => {
    for (const usd of prices) await world.push(world.attacker, honest, usd)
    return undefined
  }

const EMPTY_TIER = { quote: usdc, fee: 500, usd: 20 }
const TEN_TIMES = { quote: usdc, fee: 100, usd: 20 }
const KNOWN_MOMENTS = { quote: dai, fee: 500, usd: 20 }
const HUNDREDTH = { quote: dai, fee: 100, usd: 0.02 }
/** A little more than the depth of the honest pool within 5 %. */
const BESIDE_USD = 3_000
const RIGHT = { asset: 1, debt: 1 } as const

/** Attacks that move no figure. */
export const HELD_ATTACKS: readonly Attack[] = [
  {
    name: '102,000 dollars far below an empty tier at ten times the price, for less than two minutes',
    steps: [
      { beforeSec: 1_860, act: place(EMPTY_TIER, 1, [-100_000, -99_000]) },
      { beforeSec: 24, act: place(EMPTY_TIER, 102_000, [-100_000, -99_000]) },
    ],
    ...RIGHT,
  },
  {
    name: 'both sides at ten times the price for nine minutes',
    steps: [
      { beforeSec: 2_400, act: place(TEN_TIMES, 1, [-20, 20]) },
      { beforeSec: 540, act: place(TEN_TIMES, BESIDE_USD) },
    ],
    ...RIGHT,
  },
  {
    name: 'both sides at ten times the price in blocks half an hour, 20, 10 and 0 minutes before',
    steps: [
      { beforeSec: 2_400, act: place(KNOWN_MOMENTS, 1, [-20, 20]) },
      ...[1_800, 1_200, 600].map((beforeSec) => ({ beforeSec, act: placeForOneBlock(KNOWN_MOMENTS, 5_000) })),
      { beforeSec: 0, act: place(KNOWN_MOMENTS, 5_000) },
    ],
    ...RIGHT,
  },
  {
    name: 'two swaps that overwrite what the honest pool remembers',
    steps: [{ beforeSec: 12, act: push(TOKEN_USD * 1.0002, TOKEN_USD) }],
    ...RIGHT,
  },
  {
    name: 'a purchase up to four times the price in that block',
    steps: [{ beforeSec: 0, act: push(TOKEN_USD * 4) }],
    pushed: 4,
    ...RIGHT,
  },
  {
    name: 'both sides at a hundredth for nine minutes',
    steps: [{ beforeSec: 540, act: place(HUNDREDTH, BESIDE_USD) }],
    ...RIGHT,
  },
]

/** Attacks that stay open: dollars that stand for half an hour, open to trade, while no arbitrageur trades. */
export const OPEN_ATTACKS: readonly Attack[] = [
  {
    name: 'both sides at ten times the price for half an hour',
    steps: [{ beforeSec: 1_860, act: place(TEN_TIMES, BESIDE_USD) }],
    asset: 10,
    debt: 10,
    bound: BESIDE_USD,
  },
  {
    name: 'both sides at a hundredth for half an hour',
    steps: [{ beforeSec: 1_860, act: place(HUNDREDTH, BESIDE_USD) }],
    asset: 0.01,
    debt: 0.01,
  },
]

/** Tokens under attack on a devnet, one on each side of its pools. */
export interface AttackStage {
  readonly stage: Stage
  readonly tokens: readonly AttackedToken[]
  readTime(): Promise<number>
  /** Plays an attack before a midnight, calls back in its last block, and undoes it after the midnight. */
  play(attack: Attack, atLast: (midnightSec: number) => Promise<void>): Promise<void>
}

/** Starts with honest pools that are an hour old. The bank has plenty of both tokens. */
export async function startAttackStage(devnet: Devnet): Promise<AttackStage> {
  const { rpc, send, client, rpcUrl } = devnet
  const stage = await createStage({ rpcUrl, rpc, send, client })
  const tokens: AttackedToken[] = []
  for (const side of ['token0', 'token1'] as const) {
    const world = await World.create(stage, side)
    await send(fundBank(world.token))
    const honest = await world.pool(usdc, 3_000, TOKEN_USD)
    await world.full(world.honest, honest, HONEST_USD)
    tokens.push({ side, world, honest })
  }
  await stage.mine(60, BLOCK_SEC)

  const readTime = async () => Number((await client.getBlock()).timestamp)
  const mineUntil = async (timeSec: number) =>
    await stage.mine(Math.floor((timeSec - (await readTime())) / BLOCK_SEC), BLOCK_SEC)
  async function mineAt(timeSec: number): Promise<void> {
    await rpc.call('evm_setNextBlockTimestamp', timeSec)
    await rpc.call('evm_mine')
  }

  return {
    stage,
    tokens,
    readTime,
    async play({ steps }, atLast) {
      const longestSec = Math.max(...steps.map(({ beforeSec }) => beforeSec))
      const neededSec = longestSec + MARGIN_SEC + LEAD_SEC
      const midnightSec = Math.ceil(((await readTime()) + neededSec + 1) / DAY_SEC) * DAY_SEC
      await mineAt(midnightSec - neededSec)
      const placed: Placed[] = []
      for (const { beforeSec, act } of steps) {
        await mineUntil(midnightSec - MARGIN_SEC - beforeSec)
        for (const token of tokens) {
          const standing = await act(token)
          if (standing !== undefined) placed.push(standing)
        }
      }
      await mineUntil(midnightSec - MARGIN_SEC)
      await atLast(midnightSec)
      await mineAt(midnightSec + 12)
      for (const { world, honest } of tokens) {
        for (const each of placed.filter(({ pool }) => world.pools.includes(pool))) await world.take(each)
        await world.push(world.attacker, honest, TOKEN_USD)
      }
    },
  }
}

/** The bank sends whole tokens of an attacked token. */
export function sendTokens({ world }: AttackedToken, to: `0x${string}`, amount: number): Transaction {
  const args = [to, BigInt(amount) * 10n ** 18n] as const
  return {
    from: BANK,
    to: world.token,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args }),
  }
}

/** The honest pool, as the devnet's position manager takes it. */
export async function toDevnetPool({ side, world, honest }: AttackedToken): Promise<Pool> {
  const asked = { address: honest.address, abi: POOL_ABI, functionName: 'slot0' } as const
  const [, startTick] = await world.stage.client.readContract(asked)
  const [token0, token1] = side === 'token0' ? [world.token, honest.quote.address] : [honest.quote.address, world.token]
  return { address: honest.address, token0, token1, fee: honest.fee, tickSpacing: honest.spacing, startTick }
}
