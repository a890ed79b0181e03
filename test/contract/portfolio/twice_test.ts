import { beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, erc20Abi, maxUint256, parseAbi } from 'viem'
import { MARKETS } from '../../devnet/aave_v3/addresses.ts'
import { borrowCall, repayCall, supplyCall, transferCall, withdrawCall } from '../../devnet/aave_v3/calls.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { deployStata, STATA_ABI, unwrapCall, wrapCall } from '../../devnet/aave_v3/stata.ts'
import { BANK, TOKENS, toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { mintCall, type Pool } from '../../devnet/uniswap_v3_calls.ts'
import { allRows, countedClient, createPortfolio, e6, listing, toFigures } from './support.ts'

/**
 * What a step may change: a few seconds of interest, and one unit of rounding of each token that moves. Millionths of a
 * dollar: of 10,000 dollars, a tenth of a cent.
 */
const BOUND_E6 = 1_000n
const WRAPPED = 2_000_000_000n
/** A wrapper rounds its rate to units of USDC: a millionth of the wrapped amount may be missing. */
const WRAPPED_BOUND_E6 = BOUND_E6 + WRAPPED / 1_000_000n
const OWNER = toWalletAddress('nothing twice')
const FRIEND = toWalletAddress('nothing twice, a friend')
const DATA = parseAbi([
  'function getPool() view returns (address)',
  'function getPoolDataProvider() view returns (address)',
  'function getReserveTokensAddresses(address) view returns (address, address, address)',
])
const { usdc, weth, dai } = TOKENS
const { provider } = MARKETS.main

let devnet: Devnet
let aUsdc: Address
let debtDai: Address
let stata: Address
let stataPool: Pool
let portfolio: ReturnType<typeof createPortfolio>

beforeAll(async () => {
  devnet = (await sharedAave()).devnet
  const ask = { abi: DATA } as const
  const data = await devnet.client.readContract({ ...ask, address: provider, functionName: 'getPoolDataProvider' })
  const readTokens = (asset: Address) =>
    devnet.client.readContract({ ...ask, address: data, functionName: 'getReserveTokensAddresses', args: [asset] })
  ;[aUsdc] = await readTokens(usdc.address)
  ;[, , debtDai] = await readTokens(dai.address)
  const pool = await devnet.client.readContract({ ...ask, address: provider, functionName: 'getPool' })
  stata = await deployStata(devnet.send, { market: 'main', aToken: aUsdc, symbol: 'waUSDC' })
  stataPool = await devnet.v3.createPool({
    tokenA: stata,
    tokenB: weth.address,
    fee: 3_000,
    amountA: 3_000_000_000n,
    amountB: 10n ** 18n,
  })
  const approve = (token: Address, spender: Address) => ({
    from: OWNER,
    to: token,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, maxUint256] }),
  })
  await devnet.send([
    transferCall({ token: usdc.address, from: BANK, to: OWNER, amount: 10_000_000_000n }),
    transferCall({ token: weth.address, from: BANK, to: OWNER, amount: 10n ** 18n }),
    approve(usdc.address, pool),
    approve(aUsdc, stata),
    ...[stata, weth.address].map((token) => approve(token, UNISWAP_V3.manager)),
  ])
  const { prices } = createDevnetChain(devnet)
  const chain = createDevnetChain(devnet, {
    prices: { ...prices, wrappers: { [stata]: { kind: 'erc4626', of: usdc.address } } },
  })
  // Tokens that represent supplies and debts are on the list, as if the operator had added them.
  portfolio = createPortfolio([countedClient(listing(chain, [aUsdc, debtDai, stata])).client])
}, 180_000)

/** The most that goes into the pool, in the order of its tokens: not all of what was wrapped. */
function mintAmounts(): { readonly amount0: bigint; readonly amount1: bigint } {
  const [wrapped, ether] = [1_500_000_000n, 5n * 10n ** 17n]
  return stataPool.token0 === stata ? { amount0: wrapped, amount1: ether } : { amount0: ether, amount1: wrapped }
}

async function worth(...wallets: readonly Address[]): Promise<bigint> {
  let sum = 0n
  for (const wallet of wallets) {
    sum += toFigures(
      await portfolio.balance(`wallet=${wallet}&chain_id=1&tokens=${aUsdc},${debtDai}&include_unlisted=true`),
    ).net
  }
  return sum
}

test('nothing counts twice, wherever it moves, and every debt counts', async () => {
  const before = await worth(OWNER, FRIEND)
  expect(before).toBeGreaterThan(12_000_000_000n)
  const market = 'main' as const
  const mint = { ...rangeAround(stataPool, -6_000, 6_000), ...mintAmounts(), pool: stataPool, recipient: OWNER }
  const steps = [
    [
      'supplies to Aave',
      { ...supplyCall({ market, wallet: OWNER, asset: 'usdc', amount: 6_000_000_000n }), from: OWNER },
      BOUND_E6,
    ],
    ['wraps a part of the supply', wrapCall(stata, OWNER, WRAPPED), WRAPPED_BOUND_E6],
    ['provides liquidity with it', { ...mintCall(mint), from: OWNER }, WRAPPED_BOUND_E6],
    [
      'borrows against the rest',
      borrowCall({ market, wallet: OWNER, asset: 'dai', amount: 1_000n * 10n ** 18n }),
      WRAPPED_BOUND_E6,
    ],
    [
      'sends half of the aTokens away',
      transferCall({ token: aUsdc, from: OWNER, to: FRIEND, amount: 2_000_000_000n }),
      WRAPPED_BOUND_E6,
    ],
    [
      'the friend takes some out',
      withdrawCall({ market, wallet: FRIEND, asset: 'usdc', amount: 1_000_000_000n }),
      WRAPPED_BOUND_E6,
    ],
    ['unwraps a part of what is left', unwrapCall(stata, OWNER, 100_000_000n), WRAPPED_BOUND_E6],
  ] as const
  for (const [step, call, bound] of steps) {
    await devnet.send([call])
    const now = await worth(OWNER, FRIEND)
    const change = now > before ? now - before : before - now
    expect({ step, isWithinBound: change <= bound, change: change <= bound ? 0n : change }).toEqual({
      step,
      isWithinBound: true,
      change: 0n,
    })
  }
  const kinds = async (wallet: Address) =>
    (await allRows(portfolio, `wallet=${wallet}`)).map(({ kind, token }) => `${kind} ${token.symbol}`).sort()
  expect(await kinds(FRIEND)).toEqual(['supplied USDC', 'wallet USDC'])
  expect(new Set(await kinds(OWNER))).toEqual(
    new Set([
      ...['borrowed DAI', 'supplied USDC', 'wallet DAI', 'wallet USDC', 'wallet WETH', 'wallet waUSDC'],
      ...['liquidity WETH', 'liquidity waUSDC'],
    ]),
  )
})

test('wrapped aTokens have the value that the wrapper returns', async () => {
  const [row] = (await allRows(portfolio, `wallet=${OWNER}`)).filter(
    ({ kind, token }) => kind === 'wallet' && token.id === stata,
  )
  const contract = { address: stata, abi: STATA_ABI } as const
  const shares = BigInt(row?.amount.raw ?? 0)
  const assets = await devnet.client.readContract({ ...contract, functionName: 'previewRedeem', args: [shares] })
  const priceE8 = await devnet.client.readContract({ ...contract, functionName: 'latestAnswer' })
  expect(assets).toBeGreaterThan(shares)
  expect(row).toMatchObject({ price_source: 'wrapper', counted: true, reason: null })
  // The wrapper cuts its price to eight digits, and is asked at a later moment.
  const value = e6(row?.value_usd ?? '')
  const [least, most] = [priceE8, priceE8 + 1n].map((price) => (shares * price) / 10n ** 8n)
  expect(value).toBeGreaterThanOrEqual((least ?? 0n) - (least ?? 0n) / 1_000_000n - 1n)
  expect(value).toBeLessThanOrEqual((most ?? 0n) + 1n)
})

test('a wallet with collateral of 280 and a debt of 190 is worth 90', async () => {
  const wallet = toWalletAddress('ninety')
  const toDollars = (usd: bigint) => (usd * 10n ** 14n) / 99_987_654n
  const market = 'main' as const
  await devnet.send([supplyCall({ market, wallet, asset: 'usdc', amount: toDollars(280n) })])
  await devnet.send([borrowCall({ market, wallet, asset: 'usdc', amount: toDollars(190n) })])
  // What was borrowed is spent.
  await devnet.send([transferCall({ token: usdc.address, from: wallet, to: BANK, amount: toDollars(190n) })])
  const { net, assets, debt } = toFigures(await portfolio.balance(`wallet=${wallet}`))
  const near = (a: bigint, b: bigint) => a - b < 100n && b - a < 100n
  expect([near(assets, 280_000_000n), near(debt, 190_000_000n), near(net, 90_000_000n)]).toEqual([true, true, true])
  await devnet.send([repayCall({ market, wallet, asset: 'usdc', amount: toDollars(100n) })])
  expect(near(toFigures(await portfolio.balance(`wallet=${wallet}`)).net, 190_000_000n)).toBe(true)
})
