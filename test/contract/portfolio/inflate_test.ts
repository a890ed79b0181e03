import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, encodeFunctionData, erc20Abi, getAddress, parseAbi } from 'viem'
import type { ChainPrices } from '../../../src/finance/chain.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { ownCreationCode } from '../../devnet/artifacts.ts'
import { fundBank } from '../../devnet/contracts.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { createRandom } from '../../devnet/random.ts'
import type { Pool } from '../../devnet/uniswap_v3_calls.ts'
import { newPool, newToken, pass, pooledChain, toRaw } from '../finance/price/pool/world.ts'
import { createCode, deploy, mintCall, transferCall } from '../finance/token/balance/world.ts'
import { allRows, countedClient, createPortfolio, e6, toFigures, type WireRow } from './support.ts'

const { usdc } = TOKENS
const HALF_AN_HOUR_SEC = 1_800
const VAULT = parseAbi(['function setMood(uint256 mood)'])

let devnet: Devnet
let wallets = 0

beforeAll(async () => {
  // A chain of the tests without Aave.
  devnet = await startDevnet({ chainId: 10 })
}, 60_000)

afterAll(() => devnet?.stop())

/** Creates a token of the attacker's, a new wallet with a balance of it, and its pool. */
async function attack(options: {
  readonly held: number
  readonly dollars: number
  readonly observations?: number
  readonly token?: Address
}) {
  const { held, token = await newToken(devnet, 18) } = options
  const pool = await newPool(devnet, { address: token, decimals: 18, usd: 2 }, options)
  const wallet = toWalletAddress(`inflated ${wallets++}`)
  await devnet.send([transferCall(token, { from: BANK, to: wallet, value: toRaw(held, 18) })])
  return { token, pool, wallet }
}

/** The value of a wallet with the attacker's token if everything is counted, and the token's row. */
async function look({ wallet, token }: { readonly wallet: Address; readonly token: Address }) {
  const { client, requests } = countedClient(pooledChain(devnet))
  const portfolio = createPortfolio([client])
  const query = `wallet=${wallet}&chain_id=10&tokens=${token}&include_unlisted=true`
  const { net, confidences } = toFigures(await portfolio.balance(query))
  const asked = [...requests]
  const row = (await allRows(portfolio, query)).find(({ token: { id }, kind }) => id === token && kind === 'wallet')
  if (row === undefined) throw new Error('Cannot find the row')
  return { net, market: confidences['market_usd'], row, requests: asked }
}

/** Dollars of the quote token in a pool, in millionths. */
async function left({ address }: Pool): Promise<bigint> {
  const args = [address] as const
  const balance = await devnet.client.readContract({
    address: usdc.address,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args,
  })
  return balance
}

const refusedAs = (reason: string) => ({ counted: false, reason, value_usd: null }) satisfies Partial<WireRow>

test('a holding that its pool could pay is counted at a market price', async () => {
  const { token, pool, wallet } = await attack({ held: 10_000, dollars: 100_000 })
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const { net, market, row } = await look({ wallet, token })
  expect(row).toMatchObject({ counted: true, price_source: 'pool', price_confidence: 'market' })
  expect(Number(row.price_usd)).toBeCloseTo(2, 2)
  expect(market).toBe(net)
  expect(net).toBe(e6(row.value_usd ?? ''))
  expect(net <= (await left(pool))).toBe(true)
}, 30_000)

/** Share of a full range's dollars that it pays until half the price. A tick is 0.01 %, so figures agree to 0.1 %. */
const PAID_SHARE = 1 - Math.sqrt(0.5)

test('a holding counts at most what its pool pays until half the price, over wallet and positions together', async () => {
  const { token, pool, wallet } = await attack({ held: 60_000, dollars: 100_000 })
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const before = await look({ wallet, token })
  expect(before.row).toMatchObject({ counted: true, reason: null })
  expect(Math.abs(Number(before.net) / 1e6 / (100_000 * PAID_SHARE) - 1)).toBeLessThan(0.001)
  expect(before.row.not_counted).toMatchObject({ reason: 'exceeds_liquidity' })
  expect(Number(before.row.not_counted?.usd)).toBeCloseTo(
    60_000 * Number(before.row.price_usd) - Number(before.net) / 1e6,
    4,
  )
  // Part of it is in the pool, as a position of the wallet: the quote token counts beside it.
  const edge = Math.floor(887_272 / pool.tickSpacing) * pool.tickSpacing
  const own = pool.token0 === token
  const amounts = [toRaw(10_000, 18), toRaw(20_000, usdc.decimals)] as const
  const [amount0, amount1] = own ? amounts : [amounts[1], amounts[0]]
  await devnet.v3.mint({ pool, tickLower: -edge, tickUpper: edge, amount0, amount1, recipient: wallet })
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const { net, row, market } = await look({ wallet, token })
  expect(row.not_counted).toMatchObject({ reason: 'exceeds_liquidity' })
  expect(Math.abs(Number(market) / (Number(await left(pool)) * PAID_SHARE) - 1)).toBeLessThan(0.001)
  expect(net - (market ?? 0n) < 20_001_000_000n).toBe(true)
}, 30_000)

test.each([
  ['few dollars', { dollars: 20_000 }],
  ['one observation, just overwritten,', { dollars: 90_000, observations: 1 }],
] as const)(
  'a pool of %s keeps its price',
  async (_, options) => {
    const attacked = await attack({ held: 10, ...options })
    await pass(devnet, HALF_AN_HOUR_SEC + 60)
    await devnet.v3.swap({ pool: attacked.pool, tokenIn: usdc.address, amountIn: 10_000_000n })
    const { row } = await look(attacked)
    expect(row).toMatchObject({ counted: true, price_source: 'pool' })
    expect(Number(row.price_usd)).toBeCloseTo(2, 2)
  },
  30_000,
)

test('a price pumped in the block counts for nothing, after half an hour for no more than was left in the pool', async () => {
  const attacked = await attack({ held: 1_000, dollars: 60_000 })
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const before = await look(attacked)
  expect(before.row.counted).toBe(true)
  await devnet.v3.swap({ pool: attacked.pool, tokenIn: usdc.address, amountIn: toRaw(200_000, 6) })
  expect((await look(attacked)).net).toBe(before.net)
  await pass(devnet, 31 * 60)
  const after = await look(attacked)
  expect(after.row).toMatchObject({ counted: true, price_source: 'pool' })
  expect(after.net > before.net).toBe(true)
  expect(after.net <= (await left(attacked.pool))).toBe(true)
}, 30_000)

test('with X quote tokens left in a pool, no total rises by more than X for any pump and holding', async () => {
  const random = createRandom(31)
  const counts = { counted: 0, refused: 0 }
  for (let round = 0; round < 12; round++) {
    const attacked = await attack({ held: 1 + random.below(15_000), dollars: 30_000 + random.below(90_000) })
    await pass(devnet, HALF_AN_HOUR_SEC + 60)
    for (let swaps = random.below(3); swaps > 0; swaps--) {
      await devnet.v3.swap({ pool: attacked.pool, tokenIn: usdc.address, amountIn: toRaw(random.below(150_000), 6) })
      await pass(devnet, random.below(2_400))
    }
    const { net, row } = await look(attacked)
    expect(net <= (await left(attacked.pool))).toBe(true)
    counts[row.counted && row.not_counted === null ? 'counted' : 'refused']++
  }
  expect(counts.counted).toBeGreaterThan(1)
  expect(counts.refused).toBeGreaterThan(1)
}, 60_000)

test('many wallets count the bound each in its own question, and no more than it', async () => {
  const { token, pool, wallet } = await attack({ held: 60_000, dollars: 100_000 })
  const others = [0, 1, 2].map((index) => toWalletAddress(`inflated together ${index}`))
  await devnet.send(others.map((to) => transferCall(token, { from: BANK, to, value: toRaw(60_000, 18) })))
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const paid = Number(await left(pool)) * PAID_SHARE
  for (const each of [wallet, ...others]) {
    const { net, row } = await look({ wallet: each, token })
    expect(row.not_counted).toMatchObject({ reason: 'exceeds_liquidity' })
    expect(Math.abs(Number(net) / paid - 1)).toBeLessThan(0.001)
  }
}, 30_000)

test('a token that calls itself USDC has no price', async () => {
  const parameters = [{ type: 'string' }, { type: 'string' }, { type: 'uint8' }] as const
  const data = ownCreationCode('Token', encodeAbiParameters(parameters, ['USD Coin', 'USDC', 6]))
  const [receipt] = await devnet.send([{ from: BANK, data }])
  const token = getAddress(receipt?.contractAddress ?? '0x')
  await devnet.send(fundBank(token))
  const wallet = toWalletAddress('inflated by a name')
  await devnet.send([transferCall(token, { from: BANK, to: wallet, value: 10n ** 12n })])
  expect(await look({ wallet, token })).toMatchObject({ net: 0n, row: { ...refusedAs('unpriced'), price_usd: null } })
})

test('a vault outside the table has no price and is not called', async () => {
  const [vault = BANK] = await deploy(devnet, [createCode('Vault', usdc.address, 18)])
  const wallet = toWalletAddress('inflated by a vault')
  await devnet.send([mintCall(vault, wallet, 10n ** 18n), mintCall(usdc.address, vault, 3_000_000n)])
  const query = `wallet=${wallet}&chain_id=10&tokens=${vault}&include_unlisted=true`
  const worthWith = async (wrappers: NonNullable<ChainPrices['wrappers']>) => {
    const { client } = countedClient(pooledChain(devnet, { wrappers }))
    return toFigures(await createPortfolio([client]).balance(query)).net
  }
  for (const mood of [0n, 1n, 2n, 3n, 4n, 5n, 6n]) {
    const data = encodeFunctionData({ abi: VAULT, functionName: 'setMood', args: [mood] })
    await devnet.send([{ from: BANK, to: vault, data }])
    const { net, row, requests } = await look({ wallet, token: vault })
    expect({ mood, net, row }).toMatchObject({ mood, net: 0n, row: { ...refusedAs('unpriced'), price_usd: null } })
    expect(requests.filter((method) => method === 'eth_call').length).toBeLessThan(3)
    // Vaults in the table are trusted, so only the operator may change it.
    const named = await worthWith({ [vault]: { kind: 'erc4626', of: usdc.address } })
    expect({ mood, named }).toEqual({ mood, named: [3_000_000n, 3_000_000_000n][Number(mood)] ?? 0n })
  }
}, 60_000)

test('a gift to a wrapper of the table raises all holders together by the gift, and by nothing if it has no price', async () => {
  const pooled = await attack({ held: 1, dollars: 100_000 })
  const [vault = BANK, nested = BANK] = await deploy(devnet, [
    createCode('Vault', usdc.address, 18),
    createCode('Vault', pooled.token, 18),
  ])
  const [holder, attacker] = ['gift, a holder', 'gift, an attacker'].map((name) => toWalletAddress(name)) as [
    Address,
    Address,
  ]
  const share = 10n ** 18n
  await devnet.send([
    ...[vault, nested].flatMap((each) => [mintCall(each, holder, share), mintCall(each, attacker, 3n * share)]),
    mintCall(usdc.address, vault, toRaw(4_000, 6)),
    transferCall(pooled.token, { from: BANK, to: nested, value: toRaw(4, 18) }),
  ])
  await pass(devnet, HALF_AN_HOUR_SEC + 60)
  const wrappers = {
    [vault]: { kind: 'erc4626', of: usdc.address },
    [nested]: { kind: 'erc4626', of: pooled.token },
  } as const
  const { client } = countedClient(pooledChain(devnet, { wrappers }))
  const portfolio = createPortfolio([client])
  const worth = async (wallet: Address) =>
    toFigures(await portfolio.balance(`wallet=${wallet}&chain_id=10&tokens=${vault},${nested}&include_unlisted=true`))
      .net
  expect([await worth(holder), await worth(attacker)]).toEqual([1_000_000_000n, 3_000_000_000n])
  await devnet.send([
    mintCall(usdc.address, vault, toRaw(100_000, 6)),
    // A wrapper of a token that pools price has no price, so that its rate moves nothing.
    transferCall(pooled.token, { from: BANK, to: nested, value: toRaw(1_000_000, 18) }),
  ])
  expect([await worth(holder), await worth(attacker)]).toEqual([26_000_000_000n, 78_000_000_000n])
}, 30_000)

test('a contract that imitates a feed prices neither itself nor the token that it names', async () => {
  const parameters = [{ type: 'uint8' }, { type: 'string' }, { type: 'int256' }] as const
  const million = 10n ** 14n
  const feedData = ownCreationCode('Feed', encodeAbiParameters(parameters, [8, 'PUMP / USD', million]))
  const [feed = BANK] = await deploy(devnet, [feedData])
  const token = await newToken(devnet, 18)
  const wallet = toWalletAddress('inflated by a feed')
  await devnet.send([transferCall(token, { from: BANK, to: wallet, value: 10n ** 24n })])
  const asked = (prices: Partial<ChainPrices>) => {
    const portfolio = createPortfolio([countedClient(pooledChain(devnet, prices)).client])
    return portfolio.balance(`wallet=${wallet}&chain_id=10&tokens=${token},${feed}&include_unlisted=true`)
  }
  expect(toFigures(await asked({}))).toMatchObject({ net: 0n, rows: { counted: 0, unpriced: 1 } })
  const { usdFeeds } = pooledChain(devnet).prices
  const named = { usdFeeds: { ...usdFeeds, [token]: { feed, heartbeatSec: 3_600 } } }
  expect(toFigures(await asked(named)).net).toBe(10n ** 18n)
})
