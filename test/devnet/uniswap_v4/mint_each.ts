import type { Address } from 'viem'
import { rangeAround } from '../ticks.ts'
import { swapCall } from './calls.ts'
import type { UniswapV4 } from './mod.ts'
import { liquidityWorth, usdToRaw, type V4PoolName } from './pools.ts'

/** Ticks on either side of the price: about nine percent. */
const HALF_RANGE = 900
const SIDE_USD = 1_000
const SWAP_USD = 20_000

/** Of everything that a position can be: plain, with ether, and with hooks that set fees, take a share, and forbid. */
export const DEMO_V4_POOLS = ['plain', 'native', 'dynamicFee', 'feeTaking', 'forbidding'] as const

interface EachRequest<Name extends V4PoolName> {
  readonly names: readonly Name[]
  readonly owner: Address
}

/** Mints a position around the price in each of these pools; returns the ids. */
export async function mintEach<Name extends V4PoolName>(
  { mintMany, pools }: UniswapV4,
  { names, owner: recipient }: EachRequest<Name>,
): Promise<Readonly<Record<Name, bigint>>> {
  const ids = await mintMany(
    names.map((name) => {
      const pool = pools[name]
      const range = rangeAround(pool, -HALF_RANGE, HALF_RANGE)
      return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: SIDE_USD }), recipient }
    }),
  )
  return Object.fromEntries(names.map((name, index) => [name, ids[index]])) as Record<Name, bigint>
}

/** The bank trades in each of these pools, there and back, so that fees are due. */
export async function tradePools({ send, pools }: UniswapV4, names: readonly V4PoolName[]): Promise<void> {
  await send(
    names.flatMap((name) =>
      ([0, 1] as const).map((side) => {
        const pool = pools[name]
        return swapCall({ pool, zeroForOne: side === 0, amountIn: usdToRaw(pool.currencies[side], SWAP_USD) })
      }),
    ),
  )
}
