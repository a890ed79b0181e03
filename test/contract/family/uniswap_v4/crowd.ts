import { encodeFunctionData, type Hex } from 'viem'
import { sqrtPriceAtTickX96 } from '../../../../src/finance/math/liquidity.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { createRandom } from '../../../devnet/random.ts'
import { fullRange, rangeAround } from '../../../devnet/ticks.ts'
import { STATE_VIEW_ABI, SWAP_ROUTER_ABI } from '../../../devnet/uniswap_v4/abi.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import { collectCall, decreaseCall, donateCall, swapCall } from '../../../devnet/uniswap_v4/calls.ts'
import { liquidityWorth, usdToRaw, type V4PoolOf } from '../../../devnet/uniswap_v4/pools.ts'

/** A position of the crowd, with its pool as the devnet knows it. */
export interface Member {
  readonly tokenId: bigint
  readonly pool: V4PoolOf
}

/** One owner of many random positions. */
export interface Crowd {
  readonly owner: Hex
  readonly members: readonly Member[]
}

const OWNERS = 3
const MINTED_AT_ONCE = 250

/**
 * Mints random positions in all pools, some with a bound at the tick of their pool, and lets swaps, donations, partial and
 * complete withdrawals and collections happen between; ends with pools whose price is exactly at a bound.
 */
export async function buildCrowd(
  devnet: Devnet,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<Crowd[]> {
  const v4 = await devnet.uniswapV4()
  const random = createRandom(seed)
  const pools = Object.values(v4.pools)
  const crowds = Array.from({ length: OWNERS }, (_, index) => ({
    owner: toWalletAddress(`v4 crowd ${seed} ${index}`),
    members: [] as Member[],
  }))
  await v4.fund(crowds.map(({ owner }) => owner))
  for (let minted = 0; minted < count; minted += MINTED_AT_ONCE) {
    const ticks = new Map(await Promise.all(pools.map(async (pool) => [pool, await readTick(devnet, pool)] as const)))
    const requests = Array.from({ length: Math.min(MINTED_AT_ONCE, count - minted) }, () => {
      const pool = random.pick(pools)
      const crowd = random.pick(crowds)
      const width = 1 + random.below(random.pick([60, 600, 6_000]))
      const here = Math.floor((ticks.get(pool) ?? 0) / pool.tickSpacing) * pool.tickSpacing
      const bounds = [
        { tickLower: here, tickUpper: here + pool.tickSpacing * (1 + random.below(20)) },
        { tickLower: here - pool.tickSpacing * (1 + random.below(20)), tickUpper: here },
      ]
      const centre = random.below(2_000) - 1_000
      const kind = random.below(10)
      const around = rangeAround(pool, centre - width, centre + width)
      const range = kind === 0 ? fullRange(pool) : kind < 4 ? random.pick(bounds) : around
      const liquidity = liquidityWorth(pool, { ...range, usd: random.pick([1, 90, 3_000, 40_000]) })
      return { crowd, request: { pool, ...range, liquidity, recipient: crowd.owner } }
    })
    const ids = await v4.mintMany(requests.map(({ request }) => request))
    for (const [index, { crowd, request }] of requests.entries()) {
      crowd.members.push({ tokenId: ids[index] ?? 0n, pool: request.pool })
    }
    const living = crowds.flatMap(({ owner, members }) => members.map((member) => ({ ...member, owner })))
    await devnet.send(pools.flatMap((pool) => [...swaps(pool), donation(pool)]))
    const changed = Array.from({ length: 25 }, () => random.pick(living))
    const liquidity = await v4.readLiquidity(changed.map(({ tokenId }) => tokenId))
    await devnet.send(
      changed.flatMap((member, index) => {
        const whole = liquidity[index] ?? 0n
        if (whole === 0n) return []
        const part = (whole * BigInt(random.below(1_000))) / 1_000n
        return [collectCall(member), decreaseCall({ ...member, liquidity: random.pick([part, part, whole]) })]
      }),
      { mayRevert: true },
    )
  }
  await devnet.send(pools.flatMap((pool) => [...swaps(pool), donation(pool)]))
  for (const pool of [v4.pools.plain, v4.pools.native, v4.pools.dynamicFee]) await landOnBound(devnet, pool)
  return crowds

  function swaps(pool: V4PoolOf) {
    return [true, false].map((zeroForOne) => {
      const usd = random.pick([1, 400, 60_000]) * (1 + random.below(1_000) / 1_000)
      return swapCall({ pool, zeroForOne, amountIn: usdToRaw(pool.currencies[zeroForOne ? 0 : 1], usd) + 1n })
    })
  }

  function donation(pool: V4PoolOf) {
    const [amount0, amount1] = pool.currencies.map((currency) => usdToRaw(currency, 1 + random.below(300)))
    return donateCall({ pool, amount0: amount0 ?? 0n, amount1: amount1 ?? 0n })
  }
}

/** The pool's tick as StateView says it. */
export async function readTick({ client }: Devnet, { id }: Pick<V4PoolOf, 'id'>): Promise<number> {
  const call = { address: UNISWAP_V4.stateView, abi: STATE_VIEW_ABI, functionName: 'getSlot0', args: [id] } as const
  const [, tick] = await client.readContract(call)
  return tick
}

/** Sells currency 0 until the price is exactly that of the next bound below, from where on the tick is below it. */
async function landOnBound(devnet: Devnet, pool: V4PoolOf): Promise<void> {
  const bound = Math.floor(((await readTick(devnet, pool)) - 1) / pool.tickSpacing) * pool.tickSpacing
  const amountIn = usdToRaw(pool.currencies[0], 50_000_000)
  const sqrtPriceLimitX96 = sqrtPriceAtTickX96(bound)
  const data = encodeFunctionData({
    abi: SWAP_ROUTER_ABI,
    functionName: 'swap',
    args: [
      pool.key,
      { zeroForOne: true, amountSpecified: -amountIn, sqrtPriceLimitX96 },
      { takeClaims: false, settleUsingBurn: false },
      '0x',
    ],
  })
  const value = BigInt(pool.key.currency0) === 0n ? amountIn : 0n
  await devnet.send([{ from: BANK, to: UNISWAP_V4.swapRouter, data, value }])
}
