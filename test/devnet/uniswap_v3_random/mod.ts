import { type Address, toHex } from 'viem'
import { toWalletAddress } from '../addresses.ts'
import { setFeedCall } from '../contracts.ts'
import { createRandom, type Random } from '../random.ts'
import type { Builder } from '../scenario.ts'
import { fullRange, rangeAround } from '../ticks.ts'
import { type MintRequest, swapCall } from '../uniswap_v3_calls.ts'
import { type ActivePosition, randomAct } from './acts.ts'
import { amountsWorth, createRandomPools, dollarsToRaw, type RandomPool, type RandomPoolToken } from './pools.ts'

/** Random lives of positions, and the last block of them. */
export interface RandomPositions {
  readonly pools: readonly RandomPool[]
  readonly tokens: readonly RandomPoolToken[]
  /** Every position, burned ones too, in the order of their ids. */
  readonly positions: readonly { readonly tokenId: bigint; readonly pool: RandomPool; readonly isBurned: boolean }[]
  readonly blockNumber: bigint
}

const ROUNDS = 24
const SWAPS_PER_ROUND = 10
const ROUND_SEC_MAX = 4 * 86_400
const FEED_UNIT = 100_000_000

/**
 * Builds `count` positions in pools of every kind and lets weeks pass: prices wander, swaps cross ranges, and owners and
 * strangers act at random. The same seed on a fresh devnet gives the same flows.
 */
export async function buildRandomPositions(
  builder: Builder,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<RandomPositions> {
  const { rpc, send, v3 } = builder
  const random = createRandom(seed)
  const pools = await createRandomPools(builder)
  const tokens = [...new Set(pools.flatMap((pool) => pool.tokens))]
  const wallets = Array.from({ length: 6 }, (_, index) => toWalletAddress(`lives ${index}`))
  const prices = new Map(tokens.map((token) => [token, token.usd * FEED_UNIT]))
  const living = new Map<bigint, ActivePosition>()
  const burned = new Set<bigint>()
  const born: { tokenId: bigint; pool: RandomPool }[] = []
  const perRound = Math.ceil(count / (ROUNDS / 2))
  for (let round = 0; round < ROUNDS; round++) {
    await rpc.call('evm_increaseTime', toHex(random.below(ROUND_SEC_MAX)))
    await send([...moveFeeds(random, prices), ...randomSwaps(random, pools)])
    const requests = Array.from({ length: Math.min(perRound, count - born.length) }, () =>
      randomMint(random, pools, wallets),
    )
    for (const [index, { tokenId, liquidity }] of (await v3.mintMany(requests)).entries()) {
      const { pool, recipient } = requests[index] as LifeMint
      living.set(tokenId, { tokenId, owner: recipient, pool, liquidity })
      born.push({ tokenId, pool })
    }
    const stored = await v3.readPositions([...living.keys()])
    const acts = stored.map((each) => {
      const before = living.get(each.tokenId) as ActivePosition
      return { before, act: randomAct(random, { ...before, liquidity: each.liquidity }, wallets) }
    })
    await send(acts.flatMap(({ act }) => act.transactions))
    for (const { before, act } of acts) {
      if (act.isBurned) burned.add(before.tokenId)
      if (act.isBurned) living.delete(before.tokenId)
      else living.set(before.tokenId, { ...before, owner: act.owner ?? before.owner })
    }
  }
  await rpc.call('evm_increaseTime', toHex(ROUND_SEC_MAX))
  await send([...moveFeeds(random, prices), ...randomSwaps(random, pools)])
  const positions = born.map(({ tokenId, pool }) => ({ tokenId, pool, isBurned: burned.has(tokenId) }))
  return { pools, tokens, positions, blockNumber: BigInt(await rpc.call<string>('eth_blockNumber')) }
}

interface LifeMint extends MintRequest {
  readonly pool: RandomPool
}

function randomMint(random: Random, pools: readonly RandomPool[], wallets: readonly Address[]): LifeMint {
  const pool = random.pick(pools)
  const centre = random.below(10) < 6 ? random.below(2_000) - 1_000 : random.below(30_000) - 15_000
  const width = 200 + random.below(random.pick([300, 3_000, 30_000]))
  const range = random.below(12) === 0 ? fullRange(pool) : rangeAround(pool, centre - width, centre + width)
  const usd = random.pick([90, 3_000, 40_000]) * (1 + random.below(1_000) / 1_000)
  return { pool, ...range, ...amountsWorth(pool, usd), recipient: random.pick(wallets) }
}

/** Every feed moves by up to a tenth, stablecoins too. */
function moveFeeds(random: Random, prices: Map<RandomPoolToken, number>) {
  return [...prices].flatMap(([token, price]) => {
    const next = Math.round(price * (0.9 + random.below(200_001) / 1_000_000))
    prices.set(token, next)
    return token.feed === undefined ? [] : [setFeedCall(token.feed, { answer: BigInt(next) })]
  })
}

function randomSwaps(random: Random, pools: readonly RandomPool[]) {
  return Array.from({ length: SWAPS_PER_ROUND }, () => {
    const pool = random.pick(pools)
    const [token0, token1] = pool.tokens
    const [tokenIn, token] = random.below(2) === 0 ? [pool.token0, token0] : [pool.token1, token1]
    const usd = random.pick([50, 4_000, 40_000]) * (1 + random.below(1_000) / 1_000)
    return swapCall({ pool, tokenIn, amountIn: dollarsToRaw(token, usd) })
  })
}
