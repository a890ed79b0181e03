import { type Address, toHex } from 'viem'
import { toWalletAddress } from '../addresses.ts'
import { createRandom, type Random } from '../random.ts'
import { fullRange, rangeAround } from '../ticks.ts'
import type { Transaction } from '../transaction.ts'
import {
  burnCall,
  collectCall,
  decreaseCall,
  donateCall,
  increaseCall,
  mintCall,
  swapCall,
  transferCall,
  type V4MintRequest,
} from './calls.ts'
import { mintedId, type UniswapV4 } from './mod.ts'
import { liquidityWorth, usdToRaw, type V4PoolOf } from './pools.ts'

/** A position of the lives as the last round left it; the owner of a burned one is its last. */
export interface V4RandomPosition {
  readonly tokenId: bigint
  readonly pool: V4PoolOf
  readonly tickLower: number
  readonly tickUpper: number
  readonly owner: Address
  readonly isBurned: boolean
}

/** One thing that an owner did to a position. In its block he did nothing else, so his balances show what it paid. */
export interface V4Act {
  readonly kind: 'mint' | 'increase' | 'decrease' | 'collect' | 'burn' | 'transfer'
  readonly tokenId: bigint
  readonly owner: Address
  readonly blockNumber: bigint
}

/** Random lives of positions. */
export interface V4RandomPositions {
  readonly wallets: readonly Address[]
  /** In the order of their ids. */
  readonly positions: readonly V4RandomPosition[]
  /** In the order they happened in. */
  readonly acts: readonly V4Act[]
  /** The last block of them. */
  readonly blockNumber: bigint
}

export interface V4RandomPositionsRequest {
  readonly seed: number
  /** How many wallets, each of which does one thing a round. @default 12 */
  readonly wallets?: number
  readonly rounds: number
  /** @default all of the devnet's */
  readonly pools?: readonly V4PoolOf[]
}

type Living = Omit<V4RandomPosition, 'isBurned'>
/** Of ten acts of a wallet that has a position, how many mint one more. */
const MINT_OF_TEN = 3
const SWAPS_PER_ROUND = 3
const ROUND_SEC_MAX = 86_400

/**
 * Lets wallets mint, grow, shrink, collect, burn and transfer positions while swaps and donations go on: one act a wallet
 * and round, a block a round. The same seed on a fresh devnet gives the same lives.
 */
export async function buildV4RandomPositions(
  v4: UniswapV4,
  request: V4RandomPositionsRequest,
): Promise<V4RandomPositions> {
  const { rpc, send } = v4
  const { seed, rounds, wallets: count = 12, pools = Object.values(v4.pools) } = request
  const random = createRandom(seed)
  const wallets = Array.from({ length: count }, (_, index) => toWalletAddress(`v4 life ${seed} ${index}`))
  await v4.fund(wallets)
  const lives = new Map<bigint, V4RandomPosition>()
  const acts: V4Act[] = []
  for (let round = 0; round < rounds; round++) {
    await rpc.call('evm_increaseTime', toHex(random.below(ROUND_SEC_MAX)))
    await send(trade(random, pools))
    const living = [...lives.values()].filter(({ isBurned }) => !isBurned)
    const liquidity = await v4.readLiquidity(living.map(({ tokenId }) => tokenId))
    const wanted = wallets.map((wallet): Planned => {
      const own = living.flatMap((life, index) =>
        life.owner === wallet ? [{ ...life, liquidity: liquidity[index] ?? 0n }] : [],
      )
      if (own.length === 0 || random.below(10) < MINT_OF_TEN) return planMint(random, { wallet, pools })
      return planAct(random, { life: random.pick(own), to: random.pick(wallets) })
    })
    const planned = await possible(v4, wanted)
    const receipts = await send(planned.map(({ transaction }) => transaction))
    for (const [index, { kind, life, mint, transaction }] of planned.entries()) {
      const receipt = receipts[index]
      if (receipt === undefined) throw new Error('Cannot find the receipt of an act')
      const tokenId = life?.tokenId ?? mintedId(receipt)
      acts.push({ kind, tokenId, owner: transaction.from, blockNumber: BigInt(receipt.blockNumber) })
      if (life !== undefined) lives.set(tokenId, { ...life, isBurned: kind === 'burn' })
      else if (mint !== undefined) lives.set(tokenId, { ...mint, tokenId, isBurned: false })
    }
  }
  await send(trade(random, pools))
  const blockNumber = BigInt(await rpc.call<string>('eth_blockNumber'))
  return { wallets, positions: [...lives.values()], acts, blockNumber }
}

interface Planned {
  readonly kind: V4Act['kind']
  readonly transaction: Transaction
  /** The position that it is about, as it is afterwards; absent: it is minted. */
  readonly life?: Living
  readonly mint?: Omit<Living, 'tokenId'>
}

function planMint(
  random: Random,
  { wallet, pools }: { readonly wallet: Address; readonly pools: readonly V4PoolOf[] },
): Planned {
  const pool = random.pick(pools)
  const centre = random.below(10) < 6 ? random.below(1_200) - 600 : random.below(30_000) - 15_000
  const width = 1 + random.below(random.pick([60, 600, 6_000, 30_000]))
  const range = random.below(15) === 0 ? fullRange(pool) : rangeAround(pool, centre - width, centre + width)
  const usd = random.pick([90, 3_000, 40_000]) * (1 + random.below(1_000) / 1_000)
  const mint: V4MintRequest = { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd }), recipient: wallet }
  return { kind: 'mint', transaction: mintCall({ ...mint, from: wallet }), mint: { pool, ...range, owner: wallet } }
}

function planAct(
  random: Random,
  { life, to }: { readonly life: Living & { readonly liquidity: bigint }; readonly to: Address },
): Planned {
  const { liquidity } = life
  const part = (liquidity * BigInt(1 + random.below(999))) / 1_000n
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      return { kind: 'increase', transaction: increaseCall({ ...life, liquidity: part + 1n }), life }
    case 3:
    case 4:
      return { kind: 'decrease', transaction: decreaseCall({ ...life, liquidity: part }), life }
    case 5:
      return { kind: 'decrease', transaction: decreaseCall({ ...life, liquidity }), life }
    case 6:
    case 7:
      return { kind: 'collect', transaction: collectCall(life), life }
    case 8:
      return { kind: 'burn', transaction: burnCall(life), life }
    default:
      return { kind: 'transfer', transaction: transferCall({ ...life, to }), life: { ...life, owner: to } }
  }
}

/**
 * Those that do not revert: a hook may forbid removal or take more than a removal without principal pays, and the manager
 * refuses to collect if there is no liquidity.
 */
async function possible({ rpc }: UniswapV4, wanted: readonly Planned[]): Promise<Planned[]> {
  const outcomes = await Promise.all(
    wanted.map(({ transaction: { from, to, data, value = 0n } }) =>
      rpc.call('eth_call', { from, to, data, value: toHex(value) }, 'latest').then(
        () => true,
        () => false,
      ),
    ),
  )
  return wanted.filter((_, index) => outcomes[index])
}

/** Swaps of both directions, small and large, and now and then a donation. */
function trade(random: Random, pools: readonly V4PoolOf[]): Transaction[] {
  const swaps = Array.from({ length: SWAPS_PER_ROUND }, () => {
    const pool = random.pick(pools)
    const zeroForOne = random.below(2) === 0
    const usd = random.pick([0.01, 20, 4_000, 60_000]) * (1 + random.below(1_000) / 1_000)
    const amountIn = usdToRaw(pool.currencies[zeroForOne ? 0 : 1], usd) + 1n
    return swapCall({ pool, zeroForOne, amountIn })
  })
  if (random.below(4) > 0) return swaps
  const pool = random.pick(pools)
  const [amount0, amount1] = pool.currencies.map((currency) => usdToRaw(currency, 1 + random.below(300)))
  return [...swaps, donateCall({ pool, amount0: amount0 ?? 0n, amount1: amount1 ?? 0n })]
}
