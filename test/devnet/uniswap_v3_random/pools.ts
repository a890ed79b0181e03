import { type Address, encodeAbiParameters } from 'viem'
import { BANK, TOKENS, toWalletAddress } from '../addresses.ts'
import { ownCreationCode } from '../artifacts.ts'
import { tokenCreationCode } from '../contracts.ts'
import { type Builder, deployToken } from '../scenario.ts'
import { fullRange } from '../ticks.ts'
import type { Pool } from '../uniswap_v3_calls.ts'

/** A token of the lives, and what it costs when they begin. */
export interface RandomPoolToken {
  readonly address: Address
  readonly decimals: number
  readonly usd: number
  /** Absent: only a pool knows its price. */
  readonly feed?: Address
}

/** A pool of the lives. */
export interface RandomPool extends Pool {
  readonly tokens: readonly [RandomPoolToken, RandomPoolToken]
}

/** US dollars on each side of a pool that swaps trade against. */
const DEPTH_USD = 150_000

/** Raw units that so many US dollars buy at the start; at least one. */
export function dollarsToRaw({ usd, decimals }: RandomPoolToken, dollars: number): bigint {
  const raw = (BigInt(Math.round((dollars / usd) * 1e9)) * 10n ** BigInt(decimals)) / 10n ** 9n
  return raw > 0n ? raw : 1n
}

/** So many US dollars of each token. */
export function amountsWorth({ tokens: [token0, token1] }: RandomPool, usd: number) {
  return { amount0: dollarsToRaw(token0, usd), amount1: dollarsToRaw(token1, usd) }
}

/** Pools of every kind: two volatile tokens, stablecoins, tokens without a feed, of 0 and of 36 decimals. */
export async function createRandomPools(builder: Builder): Promise<RandomPool[]> {
  const { weth, usdc, dai, wbtc } = TOKENS
  const known: readonly RandomPoolToken[] = [weth, usdc, dai, wbtc].map(({ address, decimals, usd, feed }) => ({
    address,
    decimals,
    usd,
    feed,
  }))
  const [ether, dollar, stable, bitcoin] = known as [RandomPoolToken, RandomPoolToken, RandomPoolToken, RandomPoolToken]
  const unfed = await addToken(builder, { symbol: 'UNFED', decimals: 18, usd: 2 })
  const whole = await addToken(builder, { symbol: 'WHOLE', decimals: 0, usd: 20 })
  const fine = await addToken(builder, { symbol: 'FINE', decimals: 36, usd: 5_000, isFed: true })
  const pairs: readonly (readonly [RandomPoolToken, RandomPoolToken, number])[] = [
    [bitcoin, ether, 3_000],
    [dollar, ether, 500],
    [stable, dollar, 100],
    [unfed, ether, 3_000],
    [whole, ether, 10_000],
    [fine, dollar, 3_000],
  ]
  const created = await builder.v3.createPools(
    pairs.map(([a, b, fee]) => ({
      tokenA: a.address,
      tokenB: b.address,
      fee,
      amountA: dollarsToRaw(a, 90_000),
      amountB: dollarsToRaw(b, 90_000),
    })),
  )
  const pools = created.map((pool, index): RandomPool => {
    const [a, b] = pairs[index] as readonly [RandomPoolToken, RandomPoolToken, number]
    return { ...pool, tokens: a.address === pool.token0 ? [a, b] : [b, a] }
  })
  await builder.v3.mintMany(
    pools.map((pool) => ({
      pool,
      ...fullRange(pool),
      ...amountsWorth(pool, DEPTH_USD),
      recipient: toWalletAddress('lives base'),
    })),
  )
  return pools
}

async function addToken(
  { send }: Builder,
  token: { readonly symbol: string; readonly decimals: number; readonly usd: number; readonly isFed?: boolean },
): Promise<RandomPoolToken> {
  const { symbol, decimals, usd, isFed = false } = token
  const address = await deployToken(send, tokenCreationCode({ name: symbol, symbol, decimals }))
  if (!isFed) return { address, decimals, usd }
  const args = encodeAbiParameters(
    [{ type: 'uint8' }, { type: 'string' }, { type: 'int256' }],
    [8, `${symbol} / USD`, BigInt(usd) * 10n ** 8n],
  )
  const [receipt] = await send([{ from: BANK, data: ownCreationCode('Feed', args) }])
  const feed = receipt?.contractAddress
  if (feed === null || feed === undefined) throw new Error('Cannot deploy a feed')
  return { address, decimals, usd, feed }
}
