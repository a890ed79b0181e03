import { type Address, getAddress, type Hex } from 'viem'
import { BANK, type DevnetToken, TOKENS, WALLETS } from './addresses.ts'
import { fundBank, tokenCreationCode } from './contracts.ts'
import type { Rpc } from './rpc.ts'
import { fullRange, rangeAround } from './ticks.ts'
import type { Send } from './transaction.ts'
import type { UniswapV3 } from './uniswap_v3.ts'
import {
  burnCall,
  collectCall,
  decreaseLiquidityCall,
  type MintRequest,
  type Pool,
  swapCall,
  transferCall,
} from './uniswap_v3_calls.ts'

/** The tools that scenarios build with. */
export interface Builder {
  readonly rpc: Rpc
  readonly send: Send
  readonly v3: UniswapV3
}

const { weth, usdc, dai, wbtc, usdt } = TOKENS

/** The demo's pools: every fee tier, every token. */
const POOLS = {
  usdcWeth500: [usdc, weth, 500],
  usdcWeth3000: [usdc, weth, 3000],
  daiUsdc100: [dai, usdc, 100],
  wbtcWeth3000: [wbtc, weth, 3000],
  daiWeth10000: [dai, weth, 10000],
  wethUsdt500: [weth, usdt, 500],
} as const satisfies Record<string, readonly [DevnetToken, DevnetToken, number]>

export type PoolName = keyof typeof POOLS

/** Who minted which position where; ticks count from the price the pool was created at. */
const POSITIONS = {
  inRange: ['provider', 'usdcWeth500', -1200, 1200],
  fullRange: ['provider', 'usdcWeth3000', -887272, 887272],
  stable: ['provider', 'daiUsdc100', -10, 10],
  /** The price is below the range: all token0. */
  below: ['provider', 'usdcWeth3000', 6000, 12000],
  /** The price is above the range: all token1. */
  above: ['provider', 'wbtcWeth3000', -12000, -6000],
  /** Swaps of the scenario carried the price out of it and left fees behind. */
  crossed: ['provider', 'wethUsdt500', -30, 30],
  /** Half withdrawn and not collected: what is owed holds principal too. */
  halfWithdrawn: ['provider', 'daiWeth10000', -4000, 4000],
  /** Fees collected once, more earned since. */
  collectedOnce: ['provider', 'wbtcWeth3000', -3000, 3000],
  closed: ['provider', 'usdcWeth500', -600, 600],
  closedOwed: ['provider', 'usdcWeth3000', -1200, 1800],
  burned: ['provider', 'daiUsdc100', -50, 50],
  single: ['single', 'usdcWeth500', -2000, 1500],
  retired: ['retired', 'wethUsdt500', -500, 500],
  /** Minted by the provider, sent to the receiver. */
  transferred: ['provider', 'daiWeth10000', -2000, 2000],
  good: ['spammed', 'usdcWeth500', -3000, 3000],
} as const satisfies Record<string, readonly [keyof typeof WALLETS, PoolName, number, number]>

export type PositionName = keyof typeof POSITIONS | 'spam'

export interface Scenario {
  readonly pools: Readonly<Record<PoolName, Pool>>
  /** Token ids by name; each name describes its position's state. */
  readonly positions: Readonly<Record<PositionName, bigint>>
}

/** Builds the demo's wallets: pools, positions, swaps both ways, then withdrawals of every kind. */
export async function buildScenario(builder: Builder): Promise<Scenario> {
  const { send, v3 } = builder
  const pools = await createPools(v3)
  const names = Object.keys(POSITIONS) as (keyof typeof POSITIONS)[]
  const minted = await v3.mintMany([
    ...names.map((name) => mintRequest(pools, name)),
    ...Object.values(pools).map((pool) => ({
      ...amounts(pool, 200_000),
      pool,
      ...fullRange(pool),
      recipient: WALLETS.market,
    })),
  ])
  const positions = byName(names, minted)
  await trade(send, pools)

  const { provider, retired, receiver } = WALLETS
  const withdraw = (name: keyof typeof POSITIONS, owner: Address, parts = 1n) => {
    const { tokenId, liquidity } = positions[name]
    return decreaseLiquidityCall({ tokenId, owner, liquidity: liquidity / parts })
  }
  const collect = (name: keyof typeof POSITIONS, owner: Address) =>
    collectCall({ tokenId: positions[name].tokenId, owner })
  await send([
    ...[withdraw('halfWithdrawn', provider, 2n), collect('collectedOnce', provider)],
    ...[withdraw('closed', provider), collect('closed', provider), withdraw('closedOwed', provider)],
    ...[withdraw('burned', provider), collect('burned', provider)],
    burnCall({ tokenId: positions.burned.tokenId, owner: provider }),
    ...[withdraw('retired', retired), collect('retired', retired)],
    transferCall({ tokenId: positions.transferred.tokenId, owner: provider, to: receiver }),
  ])
  await trade(send, pools)
  await send([swapCall({ pool: pools.wethUsdt500, tokenIn: weth.address, amountIn: usdToRaw(weth, 12_000) })])
  const spam = await mintSpam(builder)
  const ids = Object.fromEntries(names.map((name) => [name, positions[name].tokenId]))
  return { pools, positions: { ...ids, spam } as Record<PositionName, bigint> }
}

/** Raw units of a token that so many USD buy when the devnet starts. */
export function usdToRaw(token: DevnetToken, usd: number): bigint {
  return (BigInt(Math.round((usd / token.usd) * 1e9)) * 10n ** BigInt(token.decimals)) / 10n ** 9n
}

/** The devnet's token at an address. */
export function tokenAt(address: Address): DevnetToken {
  const token = Object.values<DevnetToken>(TOKENS).find((candidate) => candidate.address === address)
  if (token === undefined) throw new Error(`Cannot find a token of the devnet at ${address}`)
  return token
}

/** So many USD on each side of a pool. */
export function amounts(pool: Pool, usd: number): { readonly amount0: bigint; readonly amount1: bigint } {
  return { amount0: usdToRaw(tokenAt(pool.token0), usd), amount1: usdToRaw(tokenAt(pool.token1), usd) }
}

async function createPools(v3: UniswapV3): Promise<Record<PoolName, Pool>> {
  const pools = await v3.createPools(Object.values(POOLS).map(([a, b, fee]) => poolRequest(a, b, fee)))
  return byName(Object.keys(POOLS) as PoolName[], pools)
}

function byName<K extends string, T>(names: readonly K[], values: readonly T[]): Record<K, T> {
  return Object.fromEntries(names.map((name, index) => [name, values[index]])) as Record<K, T>
}

/** A pool at the price that the feeds give. */
export function poolRequest(a: DevnetToken, b: DevnetToken, fee: number) {
  const worth = 90_000
  return { tokenA: a.address, tokenB: b.address, fee, amountA: usdToRaw(a, worth), amountB: usdToRaw(b, worth) }
}

function mintRequest(pools: Record<PoolName, Pool>, name: keyof typeof POSITIONS): MintRequest {
  const [wallet, poolName, from, to] = POSITIONS[name]
  const pool = pools[poolName]
  const range = name === 'fullRange' ? fullRange(pool) : rangeAround(pool, from, to)
  return { pool, ...range, ...amounts(pool, 10_000), recipient: WALLETS[wallet] }
}

/** Swaps in both directions of every pool, sizes that move the price a little; all positions in range earn. */
async function trade(send: Send, pools: Record<PoolName, Pool>): Promise<void> {
  await send(
    Object.values(pools).flatMap((pool) =>
      [700, 1_900].flatMap((usd) =>
        [pool.token0, pool.token1].map((tokenIn) =>
          swapCall({ pool, tokenIn, amountIn: usdToRaw(tokenAt(tokenIn), usd) }),
        ),
      ),
    ),
  )
}

/** An unsolicited position, in a token whose name is an advertisement. */
async function mintSpam({ send, v3 }: Builder): Promise<bigint> {
  const token = await deployToken(
    send,
    tokenCreationCode({
      name: 'Visit claim-reward.example to claim your reward',
      symbol: 'CLAIM',
      decimals: 18,
    }),
  )
  const pool = await v3.createPool({
    tokenA: token,
    tokenB: weth.address,
    fee: 10000,
    amountA: 10n ** 24n,
    amountB: 10n ** 18n,
  })
  const amount = 10n ** 18n
  const request = { pool, ...fullRange(pool), amount0: amount, amount1: amount, recipient: WALLETS.spammed }
  return (await v3.mint(request)).tokenId
}

/** Deploys a token, gives the bank plenty of it and returns its address. */
export async function deployToken(send: Send, creationCode: Hex): Promise<Address> {
  const [receipt] = await send([{ from: BANK, data: creationCode }])
  const address = receipt?.contractAddress
  if (address === null || address === undefined) throw new Error('Cannot deploy a token: no contract was created')
  await send(fundBank(address))
  return getAddress(address)
}
