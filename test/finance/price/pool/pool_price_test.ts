import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, getContractAddress, type Hex, keccak256 } from 'viem'
import { LENS_MODES } from '../../../../src/chain/call/lens.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { decodePools, encodePools } from '../../../../src/finance/price/pool/abi.ts'
import { LENS_RUNTIME } from '../../../../src/finance/price/pool/lens_artifact.ts'
import { exceedsLiquidity, type PoolPriceOutcome } from '../../../../src/finance/price/pool/pool_price.ts'
import { usdValue } from '../../../../src/finance/price/price.ts'
import { getPriceSources } from '../../../../src/finance/price/price_sources.ts'
import { POOL_INIT_CODE_HASHES } from '../../../../src/finance/price/table/pools.ts'
import { transferCall } from '../../../devnet/aave_v3/calls.ts'
import { BANK, TOKENS, UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { createRandom } from '../../../devnet/random.ts'
import type { Pool } from '../../../devnet/uniswap_v3_calls.ts'
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

  test('is of the pool with most dollars of quote tokens, whatever its tier, side and own tokens', async () => {
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
    for (const prices of [{ quotes: [] }, { usdFeeds: {} }]) {
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
    const pools = [stale, fresh].map((each) => (each.kind === 'price' ? each.pool : undefined))
    expect(new Set(pools).size).toBe(2)
    expect(toUsd(stale)).toBeCloseTo(7, 2)
  }, 30_000)
})

describe('an attacker', () => {
  test.each([
    ['thin', 'too few dollars', { dollars: 49_000 }],
    ['young', 'a pool that keeps one observation, just written', { observations: 1 }],
  ] as const)(
    'gets “%s” for %s',
    async (reason, _, options) => {
      const { token, pool } = await traded(options)
      await buy(pool, usdc.address, toRaw(100, 6))
      expect(await readPrice(token)).toMatchObject({ kind: 'missing', reason })
    },
    20_000,
  )

  test('gets “thin” for liquidity in one tick, and for one-sided liquidity', async () => {
    const token = { address: await newToken(devnet, 18), decimals: 18, usd: 2 }
    const pool = await newPool(devnet, token, { dollars: 100 })
    const lower = Math.floor(pool.startTick / pool.tickSpacing) * pool.tickSpacing
    const plenty = { pool, recipient: BANK, amount0: toRaw(20_000, 6), amount1: toRaw(20_000, 6) }
    await devnet.v3.mint({ ...plenty, tickLower: lower, tickUpper: lower + pool.tickSpacing })
    // The token alone, on the other side of the price.
    const own = pool.token0 === token.address
    const far = own ? lower + 10 * pool.tickSpacing : lower - 20 * pool.tickSpacing
    const side = { pool, recipient: BANK, tickLower: far, tickUpper: far + 10 * pool.tickSpacing }
    const heap = toRaw(10_000_000, 18)
    await devnet.v3.mint({ ...side, amount0: own ? heap : 0n, amount1: own ? 0n : heap })
    await pass(devnet, HALF_AN_HOUR_SEC + 60)
    expect(await readPrice(token)).toMatchObject({ kind: 'missing', reason: 'thin' })
  }, 20_000)

  test('gets “moved” for a price pumped in the block, and after half an hour no more than stays in the pool', async () => {
    const { token, pool } = await traded({ dollars: 60_000 })
    const other = await traded({ usd: 5 })
    await buy(pool, usdc.address, toRaw(200_000, 6))
    const [pumped, honest] = await priced(client, [token, other.token])
    expect(pumped).toMatchObject({ kind: 'missing', reason: 'moved' })
    expect(toUsd(honest)).toBeCloseTo(5, 2)
    await pass(devnet, 31 * 60)
    const later = await readPrice(token)
    expect(toUsd(later)).toBeGreaterThan(20)
    if (later.kind !== 'price') throw new Error('It has no price')
    // The pool holds 260,000 dollars: a larger holding of the token could not be sold at that price.
    const { price, liquidityUsd } = later
    expect(Number(liquidityUsd.units) / 10 ** liquidityUsd.scale).toBeCloseTo(260_000, -2)
    const worth = (tokens: number) => usdValue(toRaw(tokens, 18), { decimals: 18, price })
    expect(exceedsLiquidity(worth(1_000_000), later)).toBe(true)
    expect(exceedsLiquidity(worth(10), later)).toBe(false)
  }, 30_000)
})

const SUBJECT = {
  factory: UNISWAP_V3.factory,
  quotes: QUOTES.map(({ address }) => ({ token: address, ageSecMax: 86_700 })),
  windowSec: HALF_AN_HOUR_SEC,
}

test('a price of 12 candidates takes at most 70,000 gas, also if each of them is a pool', async () => {
  const few = { address: await newToken(devnet, 18), decimals: 18, usd: 2 }
  const all = { address: await newToken(devnet, 18), decimals: 18, usd: 2 }
  for (const quote of QUOTES) {
    await newPool(devnet, few, { quote, dollars: 60_000 })
    for (const fee of [100, 500, 3_000, 10_000]) await newPool(devnet, all, { quote, fee, dollars: 60_000 })
  }
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const subject = { ...SUBJECT, prices: getPriceSources(pooledChain(devnet)) }
  const gas = (tokens: readonly Address[]) => estimateGas(devnet, LENS_RUNTIME, encodePools(subject, tokens))
  const base = await gas([])
  for (const { address } of [few, all]) {
    const ofOne = (await gas([address])) - base
    expect(ofOne).toBeGreaterThan(30_000)
    expect(ofOne).toBeLessThan(70_000)
  }
}, 60_000)

test('tokens that are sent to where a pool would be price nothing and hide no pool', async () => {
  const { token, pool } = await traded({ usd: 3, dollars: 60_000 })
  const before = await readPrice(token)
  expect(before).toMatchObject({ kind: 'price', pool: pool.address })
  const absent = computedPool(token.address, weth.address, 500)
  expect(await devnet.client.getCode({ address: absent })).toBeUndefined()
  await devnet.send([transferCall({ token: weth.address, from: BANK, to: absent, amount: 1_000n * 10n ** 18n })])
  expect(await readPrice(token)).toMatchObject({ kind: 'price', pool: pool.address })
  const nobody = { address: await newToken(devnet, 18), decimals: 18 }
  const alone = computedPool(nobody.address, weth.address, 500)
  await devnet.send([transferCall({ token: weth.address, from: BANK, to: alone, amount: 1_000n * 10n ** 18n })])
  expect(await readPrice(nobody)).toMatchObject({ kind: 'missing', reason: 'unpriced' })
}, 30_000)

test('the answer is the same whether addresses of pools can be calculated, cannot be, or are calculated wrongly', async () => {
  const subject = { ...SUBJECT, prices: getPriceSources(pooledChain(devnet)) }
  const tokens = await Promise.all([0, 1, 2].map(() => newToken(devnet, 18)))
  const [rich, thin] = tokens.map((address) => ({ address, decimals: 18, usd: 2 }))
  if (rich === undefined || thin === undefined) throw new Error('Expected two tokens')
  await newPool(devnet, rich, { quote: usdc, dollars: 60_000 })
  await newPool(devnet, rich, { quote: dai, fee: 500, dollars: 90_000 })
  await newPool(devnet, thin, { quote: weth, dollars: 100 })
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const data = encodePools(subject, tokens)
  expect(data).toContain(HASH)
  const lens = '0x00000000000000000000000000000000000057a7'
  const ask = (hash: string) =>
    devnet.rpc.call<Hex>('eth_call', { to: lens, data: data.replace(HASH, hash) }, 'latest', {
      [lens]: { code: LENS_RUNTIME },
    })
  const answer = await ask(HASH)
  expect(decodePools(answer, QUOTES.length).pools.map((each) => each?.quote)).toEqual([2, 0, undefined])
  expect(await ask('0'.repeat(64))).toBe(answer)
  expect(await ask('ab'.repeat(32))).toBe(answer)
}, 30_000)

const HASH = (POOL_INIT_CODE_HASHES[UNISWAP_V3.factory] ?? '').slice(2)

function computedPool(a: Address, b: Address, fee: number): Address {
  const [token0, token1] = BigInt(a) < BigInt(b) ? [a, b] : [b, a]
  const types = [{ type: 'address' }, { type: 'address' }, { type: 'uint24' }] as const
  const salt = keccak256(encodeAbiParameters(types, [token0, token1, fee]))
  return getContractAddress({ opcode: 'CREATE2', from: UNISWAP_V3.factory, salt, bytecodeHash: `0x${HASH}` })
}
