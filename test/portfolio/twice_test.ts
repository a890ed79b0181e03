import { beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, erc20Abi, maxUint256, parseAbi } from 'viem'
import { MARKETS } from '../devnet/aave_v3/addresses.ts'
import { borrowCall, repayCall, supplyCall, transferCall, withdrawCall } from '../devnet/aave_v3/calls.ts'
import { sharedAave } from '../devnet/aave_v3/shared.ts'
import { BANK, TOKENS, UNISWAP_V3, walletOf } from '../devnet/addresses.ts'
import { chainOf } from '../devnet/chain.ts'
import type { Devnet } from '../devnet/mod.ts'
import { rangeAround } from '../devnet/ticks.ts'
import { mintCall } from '../devnet/uniswap_v3_calls.ts'
import { allRows, countedClient, createPortfolio, figuresOf, listing } from './support.ts'

/**
 * What a step may change: a few seconds of interest, and one unit of rounding of each token that moves. Millionths of a
 * dollar: of 10,000 dollars, a tenth of a cent.
 */
const BOUND_E6 = 1_000n
const OWNER = walletOf('nothing twice')
const FRIEND = walletOf('nothing twice, a friend')
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
let portfolio: ReturnType<typeof createPortfolio>

beforeAll(async () => {
  devnet = (await sharedAave()).devnet
  const ask = { abi: DATA } as const
  const data = await devnet.client.readContract({ ...ask, address: provider, functionName: 'getPoolDataProvider' })
  const tokensOf = (asset: Address) =>
    devnet.client.readContract({ ...ask, address: data, functionName: 'getReserveTokensAddresses', args: [asset] })
  ;[aUsdc] = await tokensOf(usdc.address)
  ;[, , debtDai] = await tokensOf(dai.address)
  const pool = await devnet.client.readContract({ ...ask, address: provider, functionName: 'getPool' })
  await devnet.send([
    transferCall({ token: usdc.address, from: BANK, to: OWNER, amount: 10_000_000_000n }),
    transferCall({ token: weth.address, from: BANK, to: OWNER, amount: 10n ** 18n }),
    ...[pool, UNISWAP_V3.manager].flatMap((spender) =>
      [usdc, weth].map(({ address }) => ({
        from: OWNER,
        to: address,
        data: encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, maxUint256] }),
      })),
    ),
  ])
  // What stands for supplies and debts is on the list, as if somebody had put it there.
  portfolio = createPortfolio([countedClient(listing(chainOf(devnet), [aUsdc, debtDai])).client])
}, 180_000)

async function worth(...wallets: readonly Address[]): Promise<bigint> {
  let sum = 0n
  for (const wallet of wallets) {
    sum += figuresOf(
      await portfolio.balance(`wallet=${wallet}&chain_id=1&tokens=${aUsdc},${debtDai}&include_unlisted=true`),
    ).net
  }
  return sum
}

test('nothing counts twice, wherever it goes, and no debt is forgotten', async () => {
  const before = await worth(OWNER, FRIEND)
  expect(before).toBeGreaterThan(12_000_000_000n)
  const market = 'main' as const
  const pool = devnet.pools.usdcWeth3000
  const mint = { pool, ...rangeAround(pool, -6_000, 6_000), amount0: 2_000_000_000n, amount1: 5n * 10n ** 17n }
  const steps = {
    'supplies to Aave': {
      ...supplyCall({ market, wallet: OWNER, asset: 'usdc', amount: 6_000_000_000n }),
      from: OWNER,
    },
    'provides liquidity': { ...mintCall({ ...mint, recipient: OWNER }), from: OWNER },
    'borrows against the supply': borrowCall({ market, wallet: OWNER, asset: 'dai', amount: 1_000n * 10n ** 18n }),
    'sends half of the supply away': transferCall({ token: aUsdc, from: OWNER, to: FRIEND, amount: 3_000_000_000n }),
    'the friend takes it out': withdrawCall({ market, wallet: FRIEND, asset: 'usdc', amount: 1_000_000_000n }),
  }
  for (const [step, call] of Object.entries(steps)) {
    await devnet.send([call])
    const now = await worth(OWNER, FRIEND)
    const change = now > before ? now - before : before - now
    expect({ step, isWithinBound: change <= BOUND_E6, change: change <= BOUND_E6 ? 0n : change }).toEqual({
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
      ...['borrowed DAI', 'supplied USDC', 'wallet DAI', 'wallet USDC', 'wallet WETH'],
      ...['liquidity USDC', 'liquidity WETH'],
    ]),
  )
})

test('a wallet with collateral of 280 and a debt of 190 is worth 90', async () => {
  const wallet = walletOf('ninety')
  const dollarsOf = (usd: bigint) => (usd * 10n ** 14n) / 99_987_654n
  const market = 'main' as const
  await devnet.send([supplyCall({ market, wallet, asset: 'usdc', amount: dollarsOf(280n) })])
  await devnet.send([borrowCall({ market, wallet, asset: 'usdc', amount: dollarsOf(190n) })])
  // What was borrowed is spent.
  await devnet.send([transferCall({ token: usdc.address, from: wallet, to: BANK, amount: dollarsOf(190n) })])
  const { net, assets, debt } = figuresOf(await portfolio.balance(`wallet=${wallet}`))
  const near = (a: bigint, b: bigint) => a - b < 100n && b - a < 100n
  expect([near(assets, 280_000_000n), near(debt, 190_000_000n), near(net, 90_000_000n)]).toEqual([true, true, true])
  await devnet.send([repayCall({ market, wallet, asset: 'usdc', amount: dollarsOf(100n) })])
  expect(near(figuresOf(await portfolio.balance(`wallet=${wallet}`)).net, 190_000_000n)).toBe(true)
})
