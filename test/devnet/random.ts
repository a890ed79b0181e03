import type { Address } from 'viem'
import { TOKENS, toWalletAddress } from './addresses.ts'
import { amounts, type Builder, poolRequest, tokenAt, usdToRaw } from './scenario.ts'
import { fullRange, rangeAround } from './ticks.ts'
import type { Transaction } from './transaction.ts'
import {
  burnCall,
  collectCall,
  decreaseLiquidityCall,
  increaseLiquidityCall,
  type MintRequest,
  type Pool,
  swapCall,
} from './uniswap_v3_calls.ts'

const WALLETS = 5
const ROUNDS = 4
const SWAPS_PER_ROUND = 12

export interface RandomPosition {
  readonly tokenId: bigint
  readonly owner: Address
  readonly pool: Pool
}

export interface RandomScenario {
  readonly wallets: readonly Address[]
  /** Positions that still exist, closed ones among them. */
  readonly positions: readonly RandomPosition[]
  readonly burned: readonly bigint[]
  /** The last block of the scenario. */
  readonly blockNumber: bigint
}

/**
 * Builds `count` positions with random ranges and sizes in pools of every fee tier, then lets swaps, withdrawals,
 * collections, top-ups and burns happen in random order. The same seed on a fresh devnet gives the same chain.
 */
export async function randomScenario(
  { rpc, send, v3 }: Builder,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<RandomScenario> {
  const random = createRandom(seed)
  const { usdc, dai, wbtc, usdt, weth } = TOKENS
  const pools = await v3.createPools([
    ...[poolRequest(wbtc, usdc, 3000), poolRequest(wbtc, usdt, 500), poolRequest(dai, usdt, 100)],
    ...[poolRequest(dai, wbtc, 10000), poolRequest(usdc, weth, 10000), poolRequest(dai, weth, 500)],
  ])
  const wallets = Array.from({ length: WALLETS }, (_, index) => toWalletAddress(`random ${seed} ${index}`))
  await v3.mintMany(
    pools.map((pool) => ({
      pool,
      ...fullRange(pool),
      ...amounts(pool, 50_000),
      recipient: toWalletAddress('random base'),
    })),
  )

  const requests = Array.from({ length: count }, () => randomMint(random, pools, wallets))
  // Two halves with trade between them: ticks are then initialized on both sides of where the price has been.
  const half = Math.ceil(count / 2)
  const minted = await v3.mintMany(requests.slice(0, half))
  await send(randomSwaps(random, pools))
  minted.push(...(await v3.mintMany(requests.slice(half))))

  let live = minted.map(({ tokenId }, index): RandomPosition => {
    const { recipient, pool } = requests[index] as MintRequest
    return { tokenId, owner: recipient, pool }
  })
  const burned: bigint[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await send(randomSwaps(random, pools))
    const stored = await v3.readPositions(live.map(({ tokenId }) => tokenId))
    const gone = new Set<bigint>()
    const acts = live.flatMap((position, index) => {
      const act = randomAct(random, { ...position, liquidity: stored[index]?.liquidity ?? 0n })
      if (act.burns) gone.add(position.tokenId)
      return act.transactions
    })
    await send(acts)
    burned.push(...gone)
    live = live.filter(({ tokenId }) => !gone.has(tokenId))
  }
  await send(randomSwaps(random, pools))
  return { wallets, positions: live, burned, blockNumber: BigInt(await rpc.call<string>('eth_blockNumber')) }
}

interface Act {
  readonly transactions: readonly Transaction[]
  readonly burns?: boolean
}

/** What one owner does in one round: mostly nothing. */
function randomAct(
  random: Random,
  { tokenId, owner, pool, liquidity }: RandomPosition & { readonly liquidity: bigint },
): Act {
  const collect = collectCall({ tokenId, owner })
  const withdraw = (part: bigint) => (part > 0n ? [decreaseLiquidityCall({ tokenId, owner, liquidity: part })] : [])
  switch (random.below(20)) {
    case 0:
      return { transactions: [collect] }
    case 1:
      return { transactions: [collectCall({ tokenId, owner, amount0Max: 1_000n, amount1Max: 1_000n })] }
    case 2:
      return { transactions: withdraw((liquidity * BigInt(1 + random.below(1000))) / 1001n) }
    case 3:
      return { transactions: withdraw(liquidity) }
    case 4:
      return { transactions: liquidity > 0n ? [increaseLiquidityCall({ tokenId, ...amounts(pool, 50) })] : [] }
    case 5:
      if (random.below(3) > 0) return { transactions: [] }
      return { transactions: [...withdraw(liquidity), collect, burnCall({ tokenId, owner })], burns: true }
    default:
      return { transactions: [] }
  }
}

function randomMint(random: Random, pools: readonly Pool[], wallets: readonly Address[]): MintRequest {
  const pool = random.pick(pools)
  const centre = random.below(10) < 6 ? random.below(1200) - 600 : random.below(40_000) - 20_000
  const width = 1 + random.below(random.pick([20, 200, 2_000, 30_000]))
  const range = random.below(25) === 0 ? fullRange(pool) : rangeAround(pool, centre - width, centre + width)
  const usd = random.pick([1, 50, 3_000, 250_000])
  return { pool, ...range, ...amounts(pool, usd * (1 + random.below(1000) / 1000)), recipient: random.pick(wallets) }
}

function randomSwaps(random: Random, pools: readonly Pool[]): Transaction[] {
  return Array.from({ length: SWAPS_PER_ROUND }, () => {
    const pool = random.pick(pools)
    const tokenIn = random.below(2) === 0 ? pool.token0 : pool.token1
    const usd = random.pick([0.01, 20, 4_000, 60_000]) * (1 + random.below(1000) / 1000)
    return swapCall({ pool, tokenIn, amountIn: usdToRaw(tokenAt(tokenIn), usd) + 1n })
  })
}

/** Repeatable randomness. */
export interface Random {
  /** An integer from 0 to `limit` - 1. */
  below(limit: number): number
  pick<T>(values: readonly T[]): T
}

/** The generator "mulberry32": 32 bits of state, good enough for choosing test cases. */
export function createRandom(seed: number): Random {
  let state = seed | 0
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  return { below, pick: <T>(values: readonly T[]) => values[below(values.length)] as T }
}
