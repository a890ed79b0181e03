import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, erc20Abi, formatUnits, getAddress, zeroAddress } from 'viem'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import { CodedError } from '../../../src/lib/error.ts'
import { BANK, TOKENS, toWalletAddress, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { ownCreationCode } from '../../devnet/artifacts.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { amounts, usdToRaw } from '../../devnet/scenario.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { POOL_ABI } from '../../devnet/uniswap_v3_calls.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { countedClient, createPortfolio } from './support.ts'

const WALLET = toWalletAddress('sells')
const QUOTES = (['weth', 'usdc', 'usdt', 'dai'] as const).map((name) => TOKENS[name].address)
const USDC = TOKENS.usdc.address

let devnet: Devnet
let faulty: FaultyRpc

beforeAll(async () => {
  devnet = await startDevnet({ chainId: 10 })
  faulty = await startFaultyRpc(devnet.rpcUrl)
  await devnet.send([TOKENS.weth, TOKENS.usdc].map((token) => pay(token.address, WALLET, usdToRaw(token, 3_000))))
}, 60_000)

afterAll(async () => {
  await faulty?.stop()
  await devnet?.stop()
})

function pay(token: Address, to: Address, amount: bigint) {
  return {
    from: BANK,
    to: token,
    data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] }),
  }
}

interface Sold {
  readonly token: { readonly id: Address }
  readonly amount: { readonly raw: string }
  readonly brings: { readonly raw: string } | null
  readonly pools: readonly Address[]
  readonly price_impact_percentage: string | null
  readonly blocked_by: string | null
}

interface Answer {
  readonly sale?: {
    readonly into: Address
    readonly brings: { readonly raw: string; readonly usd: string | null }
    readonly sold: readonly Sold[]
    readonly owed: readonly unknown[]
  }
}

async function ask(wallet: Address, into = '', overrides: Partial<FinanceChain['prices']> = {}) {
  const chain = createDevnetChain(devnet, { rpcUrls: [faulty.url] })
  const prices = { ...chain.prices, uniswapV3Factory: UNISWAP_V3.factory, quotes: QUOTES, ...overrides }
  const { client } = countedClient({ ...chain, prices })
  const query = `wallet=${wallet}&chain_id=10${into === '' ? '' : `&sell_into=${into}`}`
  return (await createPortfolio([client]).exit(query)).reply.data as Answer
}

test('what is sold brings less than the price of its pool by its price impact, and adds to what is there', async () => {
  const { sale } = await ask(WALLET, USDC)
  const [sold] = sale?.sold ?? []
  if (sale === undefined || sold === undefined) throw new Error('Expected a sale')
  expect(sale.sold.map(({ token, blocked_by }) => [token.id, blocked_by])).toEqual([[TOKENS.weth.address, null]])
  const [address] = sold.pools
  const pool = Object.values(devnet.pools).find((each) => each.address === address)
  if (pool === undefined) throw new Error('Expected a pool of the devnet')
  const [root] = await devnet.client.readContract({ address: pool.address, abi: POOL_ABI, functionName: 'slot0' })
  const price = (Number(root) / 2 ** 96) ** 2
  const atPrice = Number(sold.amount.raw) * (pool.token0 === USDC ? 1 / price : price)
  const impact = 100 * (1 - Number(sold.brings?.raw) / atPrice)
  expect(Number(sold.price_impact_percentage)).toBeCloseTo(impact, 3)
  // The pool's fee alone is a twentieth of a percent at least.
  expect(impact).toBeGreaterThan(pool.fee / 10_000)
  const held = usdToRaw(TOKENS.usdc, 3_000)
  expect(BigInt(sale.brings.raw)).toBe(held + BigInt(sold.brings?.raw ?? 0))
  expect(sale.brings.usd).toBe(formatUnits(BigInt(sale.brings.raw), 6))
  expect(sale.owed).toEqual([])
})

test('without being asked nothing is sold, and what has no pool says so', async () => {
  expect((await ask(WALLET)).sale).toBeUndefined()
  const { sale } = await ask(WALLET, USDC, { quotes: [] })
  expect(sale?.sold).toMatchObject([{ brings: null, pools: [], price_impact_percentage: null, blocked_by: 'no_pool' }])
  const other = await ask(WALLET, toWalletAddress('no token'))
  expect(new Set(other.sale?.sold.map(({ blocked_by }) => blocked_by))).toEqual(new Set(['no_pool']))
})

test('where no endpoint executes it, it is unsupported, and what is there already stays', async () => {
  faulty.rule(({ method }) => (method === 'eth_call' ? { kind: 'no_overrides', how: 'refuse' } : undefined))
  const { sale } = await ask(WALLET, USDC)
  faulty.rule(() => undefined)
  expect(sale?.sold).toMatchObject([{ brings: null, blocked_by: 'unsupported' }])
  expect(sale?.brings.raw).toBe(String(usdToRaw(TOKENS.usdc, 3_000)))
})

test('of a wallet with code of its own nothing is sold, and why is said', async () => {
  const [receipt] = await devnet.send([{ from: BANK, data: ownCreationCode('Actor') }])
  const contract = getAddress(receipt?.contractAddress ?? '0x')
  await devnet.send([TOKENS.weth, TOKENS.usdc].map((token) => pay(token.address, contract, usdToRaw(token, 500))))
  const { sale } = await ask(contract, USDC)
  const detail = 'The wallet has code of its own, and sales replace it'
  expect(sale?.sold).toMatchObject([{ brings: null, blocked_by: 'unsupported', detail }])
  expect(sale?.brings.raw).toBe(String(usdToRaw(TOKENS.usdc, 500)))
})

test('what more positions than one call withdraws pay is lent, and all of it is sold', async () => {
  const owner = toWalletAddress('sells too many')
  const [pool] = Object.values(devnet.pools)
  if (pool === undefined) throw new Error('Cannot find a pool')
  const range = rangeAround(pool, -600, 600)
  await devnet.v3.mintMany(
    Array.from({ length: 70 }, () => ({ pool, ...range, ...amounts(pool, 100), recipient: owner })),
  )
  const { sale } = await ask(owner, USDC)
  const tokens = [pool.token0, pool.token1].filter((token) => token !== USDC)
  expect(new Set(sale?.sold.map(({ token, blocked_by }) => `${token.id} ${blocked_by}`))).toEqual(
    new Set(tokens.map((token) => `${token} null`)),
  )
  // What arrives of 70 positions of 100 dollars a side, less the price impact.
  expect(Number(sale?.brings.usd)).toBeWithin(12_600, 14_001)
}, 60_000)

test('a token that is none is refused, and one without a contract has no pool', async () => {
  for (const into of ['DAI', '0x1', 'usdc']) {
    const failure = await ask(WALLET, into).catch((error: unknown) => error)
    expect([into, failure]).toEqual([into, expect.any(CodedError)])
    expect(String(failure)).toContain('"sell_into"')
  }
  const { sale } = await ask(WALLET, zeroAddress)
  expect(new Set(sale?.sold.map(({ blocked_by }) => blocked_by))).toEqual(new Set(['no_pool']))
})
