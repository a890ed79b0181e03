import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, decodeAbiParameters, encodeFunctionData, erc20Abi, type Hex, parseAbi, toHex } from 'viem'
import type { EnumerableDeployment } from '../../../../../src/family/liquidity/enumerable/exchange.ts'
import { createCustodyStream } from '../../../../../src/family/liquidity/enumerable/position_history/custody_stream.ts'
import { positionSubject } from '../../../../../src/family/liquidity/position_history/position_flow.ts'
import { MASTER_CHEF_LOG } from '../../../../../src/family/uniswap_v3/event.ts'
import { UNISWAP_V3 } from '../../../../../src/family/uniswap_v3/mod.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import { IncompleteError } from '../../../../../src/history/stream.ts'
import type { Route } from '../../../../../src/http/route/route.ts'
import { UnavailableError } from '../../../../../src/lib/error.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { BANK, toWalletAddress } from '../../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../../devnet/artifacts.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import {
  addPancakeswapFarm,
  FARM_ABI,
  type PancakeswapFarm,
  PERIOD_SEC,
} from '../../../../devnet/pancakeswap_v3/farm.ts'
import { addPancakeswapV3, type PancakeswapDevnet } from '../../../../devnet/pancakeswap_v3/mod.ts'
import { placeContractsAt } from '../../../../devnet/place.ts'
import type { Transaction } from '../../../../devnet/transaction.ts'
import { callRoute } from '../../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { countedClient, patient } from '../../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes } from '../../../../support/family.ts'
import { createPatientClock } from '../../../../support/test_clock.ts'

/*
 * Lives of positions that change sides at npm's real MasterChef V3: staked, harvested, taken back, staked again with a
 * boost, and paid short. What was paid are differences of token balances.
 */

interface Event {
  readonly type: string
  readonly block_number: number
  readonly transaction_hash: string
  readonly liquidity: string
  readonly amounts: Readonly<Record<'token0' | 'token1', { readonly raw: string }>>
  readonly usd_value: string | null
  readonly custodian?: { readonly address: Address; readonly kind: string }
  readonly reward?: {
    readonly token: Address
    readonly raw: string
    readonly price: { readonly usd: string; readonly source: string } | null
    readonly usd: string | null
  }
}

type Pnl = Readonly<Record<string, string | null>>

const ABI = parseAbi([
  'function set(int256 answer, uint256 updatedAt)',
  'function updateLiquidity(uint256 tokenId)',
  'function updateFarmBoostContract(address farmBoostContract)',
])
/** Blocks that are not final. */
const DEPTH = 2
const BOOSTER = toWalletAddress('a booster of farms')
/** In range, and changes sides; out of range; sent to the MasterChef by a plain transfer; never staked. */
const [MOVED, IDLE, SENT, FREE] = [1n, 2n, 3n, 4n] as const

let devnet: Devnet
let pancakeswap: PancakeswapDevnet
let farm: PancakeswapFarm
let database: TestDatabase
const histories: HistoryService[] = []
/** CAKE that each harvest and withdrawal of the moved position paid, and its price then, 8 decimals. */
const paid: { readonly amount: bigint; readonly price: bigint }[] = []
let cakePrice = 250_000_000n

const chef = (from: Address, functionName: string, args: readonly unknown[]): Transaction => ({
  from,
  to: farm.masterChef,
  data: encodeFunctionData({ abi: [...FARM_ABI, ...ABI], functionName, args } as never),
})

/** Mines a block so many seconds after the newest one, however long the machine took since. */
async function wait(seconds: number): Promise<void> {
  const { timestamp } = await devnet.client.getBlock()
  await devnet.rpc.call('evm_setNextBlockTimestamp', Number(timestamp) + seconds)
  await devnet.rpc.call('evm_mine')
}

async function readCake(wallet: Address): Promise<bigint> {
  const { cake: address } = farm
  return await devnet.client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args: [wallet] })
}

async function setCakePrice(price: bigint): Promise<void> {
  cakePrice = price
  const data = encodeFunctionData({ abi: ABI, functionName: 'set', args: [price, 0n] })
  await devnet.send([{ from: BANK, to: farm.cakeFeed, data }])
}

/** Executes a claim, and keeps what it paid. */
async function claim(functionName: 'harvest' | 'withdraw'): Promise<void> {
  const { owner } = pancakeswap
  const before = await readCake(owner)
  await devnet.send([chef(owner, functionName, [MOVED, owner])])
  paid.push({ amount: (await readCake(owner)) - before, price: cakePrice })
}

function transferCake(from: Address, to: Address, amount: bigint): Transaction {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] })
  return { from, to: farm.cake, data }
}

/** Places a booster that answers a double for every position. */
async function boost(): Promise<void> {
  await placeContractsAt(devnet, {
    placements: [{ address: BOOSTER, creationCode: ownCreationCode('Booster') }],
    owner: BANK,
  })
  await devnet.send([chef(BANK, 'updateFarmBoostContract', [BOOSTER])])
}

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 60 * 86_400 })
  database = await testDatabase()
  pancakeswap = await addPancakeswapV3(devnet)
  await devnet.rpc.call('evm_mine')
  farm = await addPancakeswapFarm(devnet, pancakeswap)
  const { owner, manager, pool } = pancakeswap
  const sent = encodeFunctionData({
    abi: erc20Abi,
    functionName: 'transferFrom',
    args: [owner, farm.masterChef, SENT],
  })
  await devnet.send([farm.stake(owner, MOVED), farm.stake(owner, IDLE), { from: owner, to: manager, data: sent }])
  await wait(3_600)
  await claim('harvest')
  await setCakePrice(400_000_000n)
  await pancakeswap.trade(pool.token0, 20_000_000n)
  await wait(7_200)
  // Moves growth into what is owed, without an event.
  await devnet.send([chef(BANK, 'updateLiquidity', [MOVED])])
  await wait(600)
  await claim('withdraw')
  await wait(600)
  await boost()
  await devnet.send([farm.stake(owner, MOVED)])
  await wait(PERIOD_SEC / 10)
  const funds = await readCake(farm.masterChef)
  await devnet.send([transferCake(farm.masterChef, BANK, funds - 7n)])
  await claim('harvest')
  await devnet.send([transferCake(BANK, farm.masterChef, funds - 7n)])
  await setCakePrice(300_000_000n)
  await wait(3_600)
}, 120_000)
afterAll(async () => {
  await Promise.all(histories.map((history) => history.close()))
  await devnet?.stop()
  await database?.close()
})

/** The routes over these blocks; `withFarm`: whether the MasterChef is configured, `isPriced`: whether CAKE has a feed. */
function createRoutes({ withFarm = true, isPriced = true } = {}) {
  const { manager, factory } = pancakeswap
  const custodians = [{ kind: 'masterchef', address: farm.masterChef, startBlock: 0 }]
  const deployment: EnumerableDeployment = { manager, factory, startBlock: 0, code: 'pancakeswap_v3' }
  const chain = createDevnetChain(devnet, { finality: { depth: DEPTH } })
  const cake = isPriced ? { [farm.cake]: { feed: farm.cakeFeed, heartbeatSec: 86_400 } } : {}
  const prices = { ...chain.prices, usdFeeds: { ...chain.prices.usdFeeds, ...cake } }
  const { client } = countedClient({ ...chain, prices })
  const clock = createPatientClock()
  const clients = new Map([[client.chain.id, client]])
  const { db } = database
  const history = createHistory({ clients, db, clock, log: silentLog, holder: `rewards ${histories.length}` })
  histories.push(history)
  const rows = [[1, { uniswapV3: [{ ...deployment, ...(withFarm && { custodians }) }] }]] as const
  const [list, one, pnl, events] = createFamilyRoutes(UNISWAP_V3, { clients: [client], rows, db, history, clock })
  if (list === undefined || one === undefined || pnl === undefined || events === undefined) {
    throw new Error('Cannot find the routes')
  }
  return { list, one, pnl, events, client }
}

async function ask<Data>(route: Route, id: bigint, query = ''): Promise<Data> {
  return (await callRoute(route, { params: { id: String(id) }, query: `chain_id=1${query}` })).reply.data as Data
}

/** The last block whose events at the MasterChef are stored. */
async function readCoveredTo(): Promise<number> {
  const [row] = await database.db.run<{ readonly last: number }>(
    "select min(upper(blocks))::int - 1 as last from history_coverage where stream = 'uniswap_v3_custody' and subject <> ''",
    [],
  )
  return row?.last ?? 0
}

const toE6 = (usd: string | null | undefined) => BigInt((usd ?? 'x').replace('.', ''))

/** What claiming would pay at the newest block. */
async function simulateHarvest(id: bigint): Promise<bigint> {
  const { owner } = pancakeswap
  const { data, to } = chef(owner, 'harvest', [id, owner])
  const answer = await devnet.rpc.call<Hex>('eth_call', { from: owner, to, data })
  return decodeAbiParameters([{ type: 'uint256' }], answer)[0]
}

test('stakes, unstakes and rewards stand between the flows of a position, each reward as it was paid', async () => {
  const { events } = createRoutes()
  const listed = await ask<Event[]>(events, MOVED)
  const marks = listed.filter(({ custodian }) => custodian !== undefined).toReversed()
  expect(marks.map(({ type }) => type)).toEqual(['stake', 'reward', 'reward', 'unstake', 'stake', 'reward'])
  for (const { custodian, liquidity, amounts, usd_value } of marks) {
    expect({ custodian, liquidity, usd_value }).toEqual({
      custodian: { address: farm.masterChef, kind: 'masterchef' },
      liquidity: '0',
      usd_value: null,
    })
    expect([amounts.token0.raw, amounts.token1.raw]).toEqual(['0', '0'])
  }
  const rewards = marks.flatMap(({ reward }) => reward ?? [])
  expect(rewards.map(({ token, raw, price }) => [token, BigInt(raw), price])).toEqual(
    paid.map(({ amount, price }) => [farm.cake, amount, { usd: String(Number(price) / 1e8), source: 'feed' }]),
  )
  // The last one was paid out of what the MasterChef had, and it had been owed far more.
  expect(paid.map(({ amount }) => amount > 10n ** 15n)).toEqual([true, true, false])
  expect(paid[2]?.amount).toBe(7n)
  const flows = await ask<Event[]>(createRoutes({ withFarm: false }).events, MOVED)
  expect(listed.filter(({ custodian }) => custodian === undefined)).toEqual(flows)
  const places = listed.map(({ block_number }) => block_number)
  expect(places).toEqual(places.toSorted((a, b) => b - a))
}, 60_000)

test('an answer about a past block knows of no stake and no reward that came later', async () => {
  const { events, pnl } = createRoutes()
  const marks = (await ask<Event[]>(events, MOVED)).filter(({ custodian }) => custodian !== undefined).toReversed()
  const unstaked = marks.findIndex(({ type }) => type === 'unstake')
  const then = `&at_block=${marks[unstaked]?.block_number}`
  const before = (await ask<Event[]>(events, MOVED, then)).filter(({ custodian }) => custodian !== undefined)
  expect(before.toReversed()).toEqual(marks.slice(0, unstaked + 1))
  const { pnl_with_rewards, pnl_usd_value } = await ask<Pnl>(pnl, MOVED, then)
  const claimed = paid.slice(0, 2).reduce((sum, { amount, price }) => sum + amount * price, 0n)
  expect(toE6(pnl_with_rewards) - toE6(pnl_usd_value)).toBe((claimed + 5n * 10n ** 19n) / 10n ** 20n)
}, 60_000)

test('profit with rewards is profit, what was paid at its price, and what can be claimed now', async () => {
  const { pnl, one } = createRoutes()
  const bare = createRoutes({ withFarm: false })
  for (const id of [MOVED, IDLE, SENT, FREE]) {
    const told = await ask<Pnl>(pnl, id)
    const { pnl_with_rewards, pnl_with_rewards_missing, ...rest } = told
    const { pnl_with_rewards: same, pnl_with_rewards_missing: __, ...before } = await ask<Pnl>(bare.pnl, id)
    // Figures that were there before do not know of the farm.
    expect(rest).toEqual(before)
    expect(same).toBe(before['pnl_usd_value'] as string)
    const income = id === MOVED ? paid : []
    const claimed = income.reduce((sum, { amount, price }) => sum + amount * price, 0n)
    const claimable = id === MOVED ? (await simulateHarvest(id)) * cakePrice : 0n
    // Rounded once, to a millionth of a dollar: 18 decimals of CAKE and 8 of its price.
    const rewardsE6 = (claimed + claimable + 5n * 10n ** 19n) / 10n ** 20n
    expect(toE6(pnl_with_rewards) - toE6(rest['pnl_usd_value'])).toBe(rewardsE6)
    expect(pnl_with_rewards_missing).toBeNull()
    expect(rewardsE6 > 10n ** 6n).toBe(id === MOVED)
    const full = await ask<{ readonly pnl: Pnl }>(one, id, '&full=true')
    expect(full.pnl).toEqual(told)
  }
}, 60_000)

test('a yearly rate is what a day brings, as the MasterChef pays it, times 365', async () => {
  const { one } = createRoutes()
  const read = async () => {
    const { rewards, usd } = await ask<{
      readonly rewards: readonly { readonly raw: string; readonly apr: string | null }[]
      readonly usd: Readonly<Record<string, string>>
    }>(one, MOVED, '&full=true')
    return { apr: Number(rewards[0]?.apr), amounts: Number(usd['amounts']), due: await simulateHarvest(MOVED) }
  }
  const [now] = [await read(), await wait(86_400)]
  const grown = Number((await simulateHarvest(MOVED)) - now.due) / 1e18
  const expected = (100 * 365 * grown * Number(cakePrice)) / 1e8 / now.amounts
  expect(now.apr).toBeGreaterThan(0)
  // The blocks are a day apart to the second; four decimals of percent are shown.
  expect(Math.abs(now.apr - expected)).toBeLessThan(0.000_1)
}, 60_000)

test('a reward that has no price, or stakes that are not complete, leave profit without rewards as it is', async () => {
  const { pnl } = createRoutes()
  const unpriced = createRoutes({ isPriced: false })
  const [whole, told] = [await ask<Pnl>(pnl, MOVED), await ask<Pnl>(unpriced.pnl, MOVED)]
  expect(told).toEqual({ ...whole, pnl_with_rewards: null, pnl_with_rewards_missing: expect.any(String) as never })
  expect(told['pnl_with_rewards_missing']).toContain(farm.cake)
  // A position without rewards needs no price.
  expect(await ask<Pnl>(unpriced.pnl, FREE)).toMatchObject({ pnl_with_rewards_missing: null })

  const { db } = database
  const bare = createRoutes({ withFarm: false })
  const { client } = bare
  const target = { chainId: 1, contract: farm.masterChef.toLowerCase() as Hex, startBlock: 0 }
  // Now all of it is final.
  await devnet.rpc.call('anvil_mine', toHex(64))
  for (const id of [MOVED, IDLE, SENT, FREE]) await ask(pnl, id)
  const later = await ask<Pnl>(pnl, MOVED)
  const toBlock = await readCoveredTo()
  const check = async (id: bigint) => {
    const minted = (await ask<Event[]>(bare.events, id)).at(-1)?.block_number ?? 0
    const part = { subject: positionSubject(id), client, db, fromBlock: minted, toBlock }
    await createCustodyStream(MASTER_CHEF_LOG, createPatientClock()).verify?.(target, part, patient)
  }
  for (const id of [MOVED, IDLE]) await check(id)
  await db.run("delete from custody_event where token_id = $1 and kind in ('stake', 'update')", [String(MOVED)])
  await db.run('delete from custody_event where token_id = $1', [String(IDLE)])
  for (const id of [MOVED, IDLE]) await expect(check(id)).rejects.toThrow(IncompleteError)
  const broken = createRoutes()
  const because = expect.stringContaining('stakes') as never
  expect(await ask<Pnl>(broken.pnl, MOVED)).toEqual({
    ...later,
    pnl_with_rewards: null,
    pnl_with_rewards_missing: because,
  })
  await expect(ask(broken.events, MOVED)).rejects.toThrow(UnavailableError)
}, 60_000)
