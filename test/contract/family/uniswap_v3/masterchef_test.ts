import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  type Address,
  decodeAbiParameters,
  encodeFunctionData,
  erc20Abi,
  type Hex,
  maxUint128,
  toHex,
  zeroAddress,
} from 'viem'
import type { EnumerableDeployment } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import { UNISWAP_V3 } from '../../../../src/family/uniswap_v3/mod.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import { minBigint } from '../../../../src/lib/number/fixed_point.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { addPancakeswapFarm, FARM_ABI, type PancakeswapFarm, PERIOD_SEC } from '../../../devnet/pancakeswap_v3/farm.ts'
import { addPancakeswapV3, type PancakeswapDevnet } from '../../../devnet/pancakeswap_v3/mod.ts'
import type { Transaction } from '../../../devnet/transaction.ts'
import { collectCall, decreaseLiquidityCall, MANAGER_ABI } from '../../../devnet/uniswap_v3_calls.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { countedClient, DEPLOYMENT, patient } from '../../../support/family/uniswap_v3/support.ts'
import { createTestServices } from '../../../support/family.ts'
import { readNewestBlock } from '../../../support/forecast_watcher.ts'
import { readInNextBlock } from '../../portfolio/next_block.ts'
import { allRows, createPortfolio } from '../../portfolio/support.ts'
import { checked, decodePayload, encodeReceipt, rowOver, stageOver } from '../../receipt/stage.ts'
import { ask, createRoutes, getIds, type Routes } from './ask.ts'

/*
 * The real MasterChef V3 of npm over PancakeSwap's real pool. What it would pay is what its own functions answer when they
 * are simulated.
 */

/** A position in answers. */
interface Stated {
  readonly token_id: string
  readonly wallet: Address
  readonly position_state: { readonly owner: Address; readonly custodian: object | null }
  readonly amounts: Readonly<Record<'token0' | 'token1', { readonly raw: string }>>
  readonly uncollected_fees: Stated['amounts'] | null
  readonly rewards: readonly { readonly token: { readonly id: Address }; readonly raw: string; readonly usd: string }[]
}

let devnet: Devnet
let database: TestDatabase
let pancakeswap: PancakeswapDevnet
let farm: PancakeswapFarm
let deployments: readonly EnumerableDeployment[]
let client: FinanceClient
let routes: Routes
let before: number
/** In range, below it, and in range but partly withdrawn; the third was sent to the MasterChef by a plain transfer. */
const STAKED = [1n, 2n, 4n] as const
const SENT = 3n
const WITHDRAWN = 4n
const stranger = toWalletAddress('a stranger who harvests nothing')

beforeAll(async () => {
  database = await testDatabase()
  devnet = await startDevnet()
  pancakeswap = await addPancakeswapV3(devnet)
  before = Number(await devnet.rpc.call('eth_blockNumber'))
  // Codes that are set stand in the newest block already.
  await devnet.rpc.call('evm_mine')
  farm = await addPancakeswapFarm(devnet, pancakeswap)
  const { manager, factory, owner } = pancakeswap
  const custodians = [{ kind: 'masterchef', address: farm.masterChef, startBlock: 0 }]
  deployments = [DEPLOYMENT, { manager, factory, startBlock: 0, code: 'pancakeswap_v3', custodians }]
  const transfer = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transferFrom',
    args: [owner, farm.masterChef, SENT],
  })
  await devnet.send([...STAKED.map((id) => farm.stake(owner, id)), { from: owner, to: manager, data: transfer }])
  const chain = createDevnetChain(devnet)
  const usdFeeds = { ...chain.prices.usdFeeds, [farm.cake]: { feed: farm.cakeFeed, heartbeatSec: 86_400 } }
  client = countedClient({ ...chain, prices: { ...chain.prices, usdFeeds } }).client
  routes = createRoutes([client], deployments)
}, 120_000)
afterAll(async () => {
  await devnet?.stop()
  await database?.close()
})

async function list(wallet: Address, query = ''): Promise<readonly Stated[]> {
  return (await ask(routes.list, `wallet=${wallet}${query}`)).reply.data
}

/** What a call of a position's owner would answer at the newest block. */
async function simulate(functionName: 'collect' | 'decreaseLiquidity' | 'harvest', args: object): Promise<bigint[]> {
  const data = encodeFunctionData({ abi: FARM_ABI, functionName, args } as never)
  const answer = await devnet.rpc.call<Hex>('eth_call', { from: pancakeswap.owner, to: farm.masterChef, data })
  return Array.from(
    { length: (answer.length - 2) / 64 },
    (_, index) => decodeAbiParameters([{ type: 'uint256' }], `0x${answer.slice(2 + 64 * index, 66 + 64 * index)}`)[0],
  )
}

async function readCake(wallet: Address): Promise<bigint> {
  return await devnet.client.readContract({
    address: farm.cake,
    abi: erc20Abi,
    functionName: 'balanceOf',
    args: [wallet],
  })
}

async function wait(seconds: number): Promise<void> {
  await devnet.rpc.call('evm_increaseTime', seconds)
  await devnet.rpc.call('evm_mine')
}

/** Compares each figure of the list with what the MasterChef's functions answer; returns the CAKE, by id. */
async function check(): Promise<ReadonlyMap<bigint, bigint>> {
  const { owner } = pancakeswap
  const positions = await list(owner, '&full=true')
  const funds = await readCake(farm.masterChef)
  const cake = new Map<bigint, bigint>()
  expect(positions.map(({ token_id }) => BigInt(token_id)).toSorted()).toEqual([...STAKED])
  for (const { token_id, amounts, uncollected_fees: fees, rewards } of positions) {
    const tokenId = BigInt(token_id)
    const [due = 0n] = await simulate('harvest', [tokenId, owner])
    const paid = minBigint(due, funds)
    expect(rewards).toEqual([
      {
        token: { id: farm.cake, symbol: 'Cake', name: 'PancakeSwap Token', decimals: 18 },
        raw: String(paid),
        amount: expect.any(String),
        usd: expect.any(String),
        // What it is worth is held where a day of it is claimed.
        apr: expect.any(String),
        penalty: null,
      } as never,
    ])
    expect(Number(rewards[0]?.usd)).toBeCloseTo((2.5 * Number(paid)) / 1e18, 4)
    const all = { tokenId, recipient: owner, amount0Max: maxUint128, amount1Max: maxUint128 }
    // Without a history, what was withdrawn and not collected cannot be told from fees.
    expect([tokenId, fees === null]).toEqual([tokenId, tokenId === WITHDRAWN])
    if (fees !== null) {
      const collected = (await simulate('collect', [all])).map(String)
      expect([token_id, fees.token0.raw, fees.token1.raw]).toEqual([token_id, ...collected])
    }
    const { data } = decreaseLiquidityCall({ tokenId, owner, liquidity: await readLiquidity(tokenId) })
    const answer = await devnet.rpc.call<Hex>('eth_call', { from: owner, to: farm.masterChef, data })
    const words = decodeAbiParameters([{ type: 'uint256' }, { type: 'uint256' }], answer)
    expect([token_id, amounts.token0.raw, amounts.token1.raw]).toEqual([token_id, ...words.map(String)])
    cake.set(tokenId, paid)
  }
  return cake
}

async function readLiquidity(tokenId: bigint): Promise<bigint> {
  const found = await devnet.client.readContract({
    address: pancakeswap.manager,
    abi: MANAGER_ABI,
    functionName: 'positions',
    args: [tokenId],
  })
  return found[7]
}

test('a staked position is of the wallet that staked it, one that was sent there of none', async () => {
  const { owner } = pancakeswap
  const { masterChef } = farm
  const custodian = { address: masterChef, kind: 'masterchef' }
  const positions = await list(owner)
  expect(
    positions.map(({ wallet, position_state }) => [wallet, position_state.owner, position_state.custodian]),
  ).toEqual(STAKED.map(() => [owner, owner, custodian]))
  for (const wallet of [masterChef, stranger]) expect(await list(wallet)).toEqual([])
  const readOne = async (id: bigint, query = '') => {
    const { manager } = pancakeswap
    const { reply } = await ask(routes.one, `manager_address=${manager}${query}`, { id: String(id) })
    return reply.data as Stated
  }
  expect(await readOne(1n)).toMatchObject({ wallet: owner, position_state: { owner, custodian } })
  expect(await readOne(SENT)).toMatchObject({ wallet: zeroAddress, position_state: { custodian } })
  // The MasterChef did not stand then, and its first block is not known.
  const past = `&chain_id=1&at_block=${before}`
  expect(await readOne(1n, past)).toMatchObject({ wallet: owner, position_state: { owner, custodian: null } })
  expect((await list(owner, past)).map(({ token_id }) => token_id)).toEqual(['1', '2', '3', '4'])
})

test('its CAKE is what harvesting pays, through swaps, the end of the period, a shortage and an emergency', async () => {
  const { owner, pool } = pancakeswap
  const { masterChef, cake } = farm
  await wait(3_600)
  const early = await check()
  expect(early.get(1n)).toBeGreaterThan(0n)
  // Out of range from the start.
  expect(early.get(2n)).toBe(0n)
  const act = (from: Address, functionName: string, args: readonly unknown[]): Transaction => ({
    from,
    to: masterChef,
    data: encodeFunctionData({ abi: FARM_ABI, functionName, args } as never),
  })
  await pancakeswap.trade(pool.token0, 120_000_000n)
  await wait(86_400)
  const crossed = await check()
  const pending = await devnet.client.readContract({
    address: masterChef,
    abi: FARM_ABI,
    functionName: 'pendingCake',
    args: [1n],
  })
  expect(crossed.get(1n)).toBeGreaterThan(pending)
  await devnet.send([act(owner, 'harvest', [1n, owner])])
  await wait(2 * PERIOD_SEC)
  const ended = await check()
  await wait(PERIOD_SEC)
  expect(await check()).toEqual(ended)
  const rest = 5n
  const sent = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transfer',
    args: [BANK, (await readCake(masterChef)) - rest],
  })
  const snapshot = await devnet.rpc.call('evm_snapshot')
  await devnet.send([{ from: masterChef, to: cake, data: sent }])
  expect((await check()).get(1n)).toBe(rest)
  await devnet.rpc.call('evm_revert', snapshot)
  await devnet.send([act(BANK, 'setEmergency', [true])])
  const emergency = (await list(owner, '&full=true')).map(({ rewards }) => rewards[0]?.raw)
  expect(emergency).toEqual(STAKED.map(() => '0'))
  await devnet.send([act(BANK, 'setEmergency', [false])])
}, 60_000)

test('receipts about it verify, and triggers watch it as its owner would see it', async () => {
  const { owner } = pancakeswap
  const block = Number(await devnet.client.getBlockNumber({ cacheTime: 0 }))
  await devnet.rpc.call('anvil_mine', '0x2')
  const row = { uniswapV3: [...deployments] }
  const stage = stageOver([rowOver([devnet.rpcUrl], row)])
  try {
    const [tokenId] = STAKED
    const query = `chain_id=1&at_block=${block}&receipt=true`
    const { status, body } = await stage.get(`/v1/positions/uniswap-v3?wallet=${owner}&${query}`)
    const { is, verdicts } = await checked(stage, encodeReceipt(body.receipt))
    expect({ status, is, figures: verdicts.figures.is }).toEqual({ status: 200, is: 'true', figures: 'true' })
    expect(JSON.stringify(decodePayload(body.receipt))).toContain(farm.masterChef)
    const watch = UNISWAP_V3.configure(new Map([[1, row]])).watch({
      chainIds: [1],
      servesSolana: false,
      connect: () => createTestServices({ clients: [client] }),
    })
    const subject = { token_id: String(tokenId), manager_address: pancakeswap.manager }
    const place = { client, block: await readNewestBlock(devnet.rpc, 1) }
    const [found] = (await watch?.watcher?.().confirm([subject], place, patient)) ?? []
    if (found === undefined || found === 'gone') throw new Error('Cannot watch the position')
    const one = await stage.get(`/v1/positions/uniswap-v3/${tokenId}?chain_id=1&manager_address=${pancakeswap.manager}`)
    expect([found.text('in_range'), found.text('is_active')]).toEqual([true, one.body.data.is_active] as never)
  } finally {
    await stage.close()
  }
}, 60_000)

test('what can be collected has its CAKE, and a built-in MasterChef of no row is named as not read', async () => {
  const { owner } = pancakeswap
  await wait(3_600)
  const portfolio = createPortfolio([client], {
    db: database.db,
    deployments: { uniswapV3: [...deployments], aaveV3: [] },
  })
  const { found } = await readInNextBlock(devnet, async () => ({
    positions: await list(owner, '&full=true'),
    rows: await allRows(portfolio, `wallet=${owner}&chain_id=1`),
    overview: (await portfolio.overview(`wallet=${owner}`)).reply.data as {
      readonly earnings: { readonly to_collect_usd: string }
    },
    balance: (await portfolio.balance(`wallet=${owner}&chain_id=1`)).reply.data as {
      readonly coverage: { readonly not_read: readonly string[] }
    },
  }))
  const sum = (usd: readonly (string | null)[]) => usd.reduce((all, each) => all + Number(each), 0)
  const cake = sum(found.positions.flatMap(({ rewards }) => rewards.map(({ usd }) => usd)))
  const paid = found.rows.filter(({ position }) => position?.['part'] === 'rewards')
  const others = found.rows.filter(({ position }) => ['fees', 'withdrawn', 'owed'].includes(position?.['part'] ?? ''))
  // Each value is rounded to a millionth of a dollar, and so is each sum of them.
  expect(cake).toBeGreaterThan(1)
  expect(Math.abs(sum(paid.map(({ value_usd }) => value_usd)) - cake)).toBeLessThan(1e-6 * (STAKED.length + 1))
  expect(others.length).toBeGreaterThan(0)
  const collectable = cake + sum(others.map(({ value_usd }) => value_usd))
  const difference = Number(found.overview.earnings.to_collect_usd) - collectable
  expect(Math.abs(difference)).toBeLessThan(1e-6 * (STAKED.length + others.length + 1))
  expect(found.balance.coverage.not_read).toContain(
    "positions in uniswap-v3 pancakeswap_v3's masterchef 0x556B9306565093C855AEA9AE92A594704c2Cd59e",
  )
}, 60_000)

test('it stands in the portfolio, and arrives to the wei when it is left', async () => {
  const { owner, manager, pool } = pancakeswap
  const { masterChef, cake } = farm
  const portfolio = createPortfolio([client], { deployments: { uniswapV3: [...deployments], aaveV3: [] } })
  const query = `wallet=${owner}&chain_id=1`
  const { found, timeSec } = await readInNextBlock(devnet, async () => ({
    rows: await allRows(portfolio, query),
    exit: (await portfolio.exit(query)).reply.data as {
      readonly rows: readonly {
        readonly token: { readonly id: Address }
        readonly arrives: { readonly raw: string } | null
        readonly blocked_by: string | null
        readonly position: Readonly<Record<string, string>> | null
      }[]
    },
  }))
  const ids = new Set(found.rows.flatMap(({ position }) => position?.['token_id'] ?? []))
  expect([...ids].toSorted()).toEqual(STAKED.map(String))
  const tokens = [pool.token0, pool.token1, cake]
  const readBalances = () =>
    Promise.all(
      tokens.map((address) =>
        devnet.client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
      ),
    )
  const held = await readBalances()
  const leave = await Promise.all(
    STAKED.map(async (tokenId): Promise<readonly Transaction[]> => {
      const args = [tokenId, owner] as const
      return [
        { from: owner, to: masterChef, data: encodeFunctionData({ abi: FARM_ABI, functionName: 'withdraw', args }) },
        { ...decreaseLiquidityCall({ tokenId, owner, liquidity: await readLiquidity(tokenId) }), to: manager },
        { ...collectCall({ tokenId, owner }), to: manager },
      ]
    }),
  )
  await devnet.rpc.call('evm_setNextBlockTimestamp', toHex(timeSec))
  await devnet.send(leave.flat())
  const grown = (await readBalances()).map((balance, index) => balance - (held[index] ?? 0n))
  const told = tokens.map((token) =>
    found.exit.rows
      .filter(({ token: { id }, position }) => id === token && position?.['token_id'] !== undefined)
      .reduce((sum, { arrives }) => sum + BigInt(arrives?.raw ?? 0), 0n),
  )
  expect(told).toEqual(grown)
  expect(told.every((each) => each > 0n)).toBe(true)
  expect(found.exit.rows.filter(({ blocked_by }) => blocked_by !== null)).toEqual([])
  // Back in their owner's hands, they are listed as such.
  expect(getIds(await ask(routes.list, `wallet=${owner}&status=inactive`))).toEqual(STAKED.map(String))
}, 60_000)
