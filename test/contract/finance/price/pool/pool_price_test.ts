import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { LENS_MODES } from '../../../../../src/chain/call/lens.ts'
import type { FinanceClient } from '../../../../../src/finance/chain.ts'
import { encodeLook, encodeSearch } from '../../../../../src/finance/price/pool/abi.ts'
import { LENS_RUNTIME } from '../../../../../src/finance/price/pool/lens_artifact.ts'
import type { PoolPriceOutcome } from '../../../../../src/finance/price/pool/pool_price.ts'
import { getPriceSources } from '../../../../../src/finance/price/price_sources.ts'
import { BANK, TOKENS, UNISWAP_V3 } from '../../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { createRandom } from '../../../../devnet/random.ts'
import type { Pool } from '../../../../devnet/uniswap_v3_calls.ts'
import { createOracle } from './oracle_library.ts'
import { createClient, estimateGas, newPool, newToken, pass, pooledChain, priced, QUOTES, toRaw } from './world.ts'

const { weth, usdc, dai } = TOKENS
const HALF_AN_HOUR_SEC = 1_800

let devnet: Devnet
let client: FinanceClient

beforeAll(async () => {
  devnet = await startDevnet()
  client = createClient(pooledChain(devnet))
}, 60_000)

afterAll(() => devnet?.stop())

/** A token of ours with a pool that is old enough. */
async function traded(options: Partial<Parameters<typeof newPool>[2]> & { decimals?: number; usd?: number } = {}) {
  const { decimals = 18, usd = 2, dollars = 1_000_000 } = options
  const token = { address: await newToken(devnet, decimals), decimals, usd }
  const pool = await newPool(devnet, token, { ...options, dollars })
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  return { token, pool }
}

async function readPrice(token: { readonly address: Address; readonly decimals: number }): Promise<PoolPriceOutcome> {
  const [outcome] = await priced(client, [token])
  if (outcome === undefined) throw new Error('Nothing was answered')
  return outcome
}

function toUsd(outcome: PoolPriceOutcome | undefined): number {
  if (outcome?.kind !== 'price') throw new Error(`There is no price because ${outcome?.because}`)
  return Number(outcome.price.units) / 10 ** outcome.price.scale
}

const buy = (pool: Pool, quote: Address, amountIn: bigint) => devnet.v3.swap({ pool, tokenIn: quote, amountIn })

describe('the price by a pool', () => {
  test('is what OracleLibrary quotes, to the last of 18 digits, for tokens on either side and of any decimals', async () => {
    const ask = createOracle(devnet)
    const random = createRandom(20)
    const sides = new Set<boolean>()
    for (const [index, decimals] of [18, 6, 0, 8, 24, 18, 18].entries()) {
      const quote = QUOTES[index % QUOTES.length] ?? usdc
      const { token, pool } = await traded({ decimals, quote, usd: [0.0001, 2, 500, 90_000][index % 4] ?? 1 })
      for (let swaps = 0; swaps < 5; swaps++) {
        await pass(devnet, 1 + random.below(700))
        await buy(pool, quote.address, toRaw(50 + random.below(5_000), quote.decimals) / BigInt(Math.round(quote.usd)))
      }
      // The library's mean and the median of intervals are one while the price stands still.
      await pass(devnet, HALF_AN_HOUR_SEC + 60)
      const outcome = await readPrice(token)
      if (outcome.kind === 'missing') throw new Error(outcome.because)
      const amount = 10n ** 38n
      const question = { pool: pool.address, amount, base: token.address, quoted: quote.address }
      const { out } = await ask(question, HALF_AN_HOUR_SEC)
      // Dollars of `amount` raw units, both ways, in units of 10^-40.
      const [{ units, scale }, feed] = [outcome.price, BigInt(quote.usd)]
      const ours = (amount * units * 10n ** 40n) / 10n ** BigInt(scale + decimals)
      const theirs = (out * feed * 10n ** 40n) / 10n ** BigInt(quote.decimals)
      const apart = ours > theirs ? ours - theirs : theirs - ours
      // Theirs is cut to a raw unit of the quote token, ours is rounded to 18 digits.
      const cut = (feed * 10n ** 40n) / 10n ** BigInt(quote.decimals)
      expect(apart).toBeLessThanOrEqual(theirs / 10n ** 17n + cut)
      expect(String(units).length).toBeLessThanOrEqual(18)
      expect(outcome.price.source).toBe('pool')
      sides.add(pool.token0 === token.address)
    }
    expect(sides.size).toBe(2)
  }, 60_000)

  test('is the median by depth, whatever the tier, side and own tokens of a pool', async () => {
    const { token } = await traded({ usd: 10, dollars: 60_000, quote: usdc, fee: 3_000 })
    expect(toUsd(await readPrice(token))).toBeCloseTo(10, 2)
    // More value, but of the token alone: its own balance does not count.
    await newPool(devnet, { ...token, usd: 30 }, { quote: dai, fee: 500, dollars: 59_000 })
    await newPool(devnet, { ...token, usd: 20 }, { quote: weth, fee: 10_000, dollars: 80_000 })
    await pass(devnet, HALF_AN_HOUR_SEC + 60)
    expect(toUsd(await readPrice(token))).toBeCloseTo(20, 1)
  }, 30_000)

  test.each(LENS_MODES)(
    'is the same for many tokens, in pages, and in the past, by %s',
    async (way) => {
      const { token, pool } = await traded({ usd: 3 })
      const number = await devnet.client.getBlockNumber()
      const nobody = { address: BANK, decimals: 18 }
      const many = Array.from({ length: 90 }, (_, index) => (index % 2 === 0 ? token : nobody))
      const before = await priced(client, many, { way, number })
      expect(before.map(({ kind }) => kind)).toEqual(many.map((each) => (each === token ? 'price' : 'missing')))
      await buy(pool, usdc.address, toRaw(10_000, 6))
      await pass(devnet, 1_000)
      expect((await priced(client, [token], { way }))[0]).not.toEqual(before[0])
      expect(await priced(client, many, { way, number })).toEqual(before)
      // Before the pool was there.
      const { token: later } = await traded()
      expect((await priced(client, [later], { way, number }))[0]).toMatchObject({ kind: 'missing', reason: 'unpriced' })
    },
    30_000,
  )

  test('is missing where the chain has no factory or no quote token with a feed, and nothing is asked', async () => {
    const { token } = await traded()
    // The dollar of a list is no feed.
    const listed = { usdFeeds: {}, stablecoins: [usdc.address] }
    for (const prices of [{ quotes: [] }, { usdFeeds: {} }, listed]) {
      const [outcome] = await priced(createClient(pooledChain(devnet, prices)), [token])
      expect(outcome).toMatchObject({ kind: 'missing', reason: 'unpriced' })
    }
  }, 20_000)

  test('leaves out a quote token whose feed is late or silent', async () => {
    const { token } = await traded({ usd: 7, dollars: 70_000, quote: weth })
    await newPool(devnet, token, { quote: usdc, dollars: 60_000 })
    await pass(devnet, HALF_AN_HOUR_SEC + 60)
    const { timestamp } = await devnet.client.getBlock()
    await devnet.setFeed(weth.feed, { answer: 300_000_000_000n, updatedAtSec: timestamp - 90_000n })
    const stale = await readPrice(token)
    await devnet.setFeed(weth.feed, { answer: 300_000_000_000n })
    const fresh = await readPrice(token)
    const pools = [stale, fresh].map((each) => (each.kind === 'price' ? each.pools.length : 0))
    expect(pools).toEqual([1, 2])
    expect(toUsd(stale)).toBeCloseTo(7, 2)
  }, 30_000)
})

test('a search takes at most 100,000 gas for 12 candidates, and 350,000 if each is a pool; a look at most 200,000 a pool', async () => {
  const none = await newToken(devnet, 18)
  const all = { address: await newToken(devnet, 18), decimals: 18, usd: 2 }
  const rows = []
  for (const quote of QUOTES) {
    for (const [tier, fee] of [100, 500, 3_000, 10_000].entries()) {
      const { address: pool, token1 } = await newPool(devnet, all, { quote, fee, dollars: 60_000 })
      rows.push({ pool, quote: quote.address, tier, isToken1: token1 === all.address })
    }
  }
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const search = {
    factory: UNISWAP_V3.factory,
    quotes: QUOTES.map(({ address }) => address),
    prices: getPriceSources(pooledChain(devnet)),
  }
  const gas = (data: `0x${string}`) => estimateGas(devnet, LENS_RUNTIME, data)
  const searchGas = async (tokens: readonly Address[]) => (await gas(encodeSearch(search, tokens))) - base
  const base = await gas(encodeSearch(search, []))
  const [few, many] = [await searchGas([none]), await searchGas([all.address])]
  if (process.env['TELL'] !== undefined) console.log({ few, many })
  expect(few).toBeLessThan(100_000)
  expect(many).toBeLessThan(350_000)
  const empty = await gas(encodeLook([], { points: 13, windowSec: HALF_AN_HOUR_SEC }))
  for (const row of rows) {
    const look = (await gas(encodeLook([row], { points: 13, windowSec: HALF_AN_HOUR_SEC }))) - empty
    if (process.env['TELL'] !== undefined) console.log({ tier: row.tier, look })
    expect(look).toBeGreaterThan(40_000)
    expect(look).toBeLessThan(200_000)
  }
}, 60_000)
