import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, erc20Abi, parseAbi, toHex } from 'viem'
import { toLowerHex } from '../../../../src/chain/call/words.ts'
import { createWalletStream } from '../../../../src/family/liquidity/enumerable/position_history/wallet_stream.ts'
import { GAUGE_LOG } from '../../../../src/family/slipstream/event.ts'
import { SLIPSTREAM } from '../../../../src/family/slipstream/mod.ts'
import { createHistory, type HistoryService } from '../../../../src/history/mod.ts'
import { IncompleteError } from '../../../../src/history/stream.ts'
import type { Route } from '../../../../src/http/route/route.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { BANK } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { addSlipstream, readLiquidity, type SlipstreamDevnet } from '../../../devnet/slipstream.ts'
import type { Transaction } from '../../../devnet/transaction.ts'
import { burnCall, collectCall, decreaseLiquidityCall } from '../../../devnet/uniswap_v3_calls.ts'
import { callRoute } from '../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { countedClient, patient } from '../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { createPatientClock } from '../../../support/test_clock.ts'

/*
 * Lives of positions that change sides at a gauge: staked, claimed, taken back with a penalty, staked again, and claimed
 * in one block together with another one. What was paid are differences of token balances.
 */

interface Event {
  readonly type: string
  readonly block_number: number
  readonly log_index: number
  readonly custodian?: { readonly address: Address; readonly kind: string }
  readonly reward?: { readonly token: Address; readonly raw: string; readonly usd: string | null }
}

type Pnl = Readonly<Record<string, string | null>>

const ABI = parseAbi(['function set(int256 answer, uint256 updatedAt)'])
/** Blocks that are not final. */
const DEPTH = 2
const PENALTY = { bps: 3_000, sec: 3 * 86_400 }

let devnet: Devnet
let slipstream: SlipstreamDevnet
let database: TestDatabase
const histories: HistoryService[] = []
/** In range; wider, and both staked together; never staked. */
let moved: bigint
let other: bigint
let free: bigint
let price = 120_000_000n
/** What each claim paid, and the price of the reward then, 8 decimals. */
const paid = new Map<bigint, { readonly amount: bigint; readonly price: bigint }[]>()

async function wait(seconds: number): Promise<void> {
  await devnet.rpc.call('evm_increaseTime', seconds)
  await devnet.rpc.call('evm_mine')
}

async function readReward(): Promise<bigint> {
  const { reward: address, owner } = slipstream
  return await devnet.client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args: [owner] })
}

/** Executes what pays one position, and keeps what it paid. */
async function claim(id: bigint, transaction: Transaction): Promise<void> {
  const before = await readReward()
  await devnet.send([transaction])
  paid.set(id, [...(paid.get(id) ?? []), { amount: (await readReward()) - before, price }])
}

async function setPrice(next: bigint): Promise<void> {
  price = next
  const data = encodeFunctionData({ abi: ABI, functionName: 'set', args: [price, 0n] })
  await devnet.send([{ from: BANK, to: slipstream.rewardFeed, data }])
}

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 60 * 86_400 })
  database = await testDatabase()
  slipstream = await addSlipstream(devnet)
  const { owner, pool, tokenIds } = slipstream
  ;[moved, other, free] = tokenIds
  await devnet.send(slipstream.stake(owner, moved))
  await wait(3_600)
  await claim(moved, slipstream.claim(owner, moved))
  await setPrice(200_000_000n)
  await devnet.send([slipstream.setPenalty(PENALTY.bps, PENALTY.sec)])
  await slipstream.trade(pool.token0, 20_000_000n)
  await wait(7_200)
  await claim(moved, slipstream.unstake(owner, moved))
  await wait(600)
  await devnet.send([...slipstream.stake(owner, moved), ...slipstream.stake(owner, other)])
  await setPrice(150_000_000n)
  await wait(3_600)
  await claim(other, slipstream.claim(owner, other))
  await claim(moved, slipstream.claim(owner, moved))
  await wait(3_600)
}, 120_000)
afterAll(async () => {
  await Promise.all(histories.map((history) => history.close()))
  await devnet?.stop()
  await database?.close()
})

/** The routes over these blocks; `withGauges`: whether the voter is configured. */
function createRoutes({ withGauges = true } = {}) {
  const { manager, factory, voter, reward, rewardFeed } = slipstream
  const chain = createDevnetChain(devnet, { finality: { depth: DEPTH } })
  const usdFeeds = { ...chain.prices.usdFeeds, [reward]: { feed: rewardFeed, heartbeatSec: 86_400 } }
  const { client } = countedClient({ ...chain, prices: { ...chain.prices, usdFeeds } })
  const clock = createPatientClock()
  const clients = new Map([[client.chain.id, client]])
  const { db } = database
  const history = createHistory({ clients, db, clock, log: silentLog, holder: `gauges ${histories.length}` })
  histories.push(history)
  const row = { manager, factory, startBlock: 0, code: 'aerodrome_slipstream', ...(withGauges && { voter }) }
  const rows = [[1, { slipstream: [row] }]] as const
  const [, one, pnl, events] = createFamilyRoutes(SLIPSTREAM, { clients: [client], rows, db, history, clock })
  if (one === undefined || pnl === undefined || events === undefined) throw new Error('Cannot find the routes')
  return { one, pnl, events, client }
}

async function ask<Data>(route: Route, id: bigint, query = ''): Promise<Data> {
  return (await callRoute(route, { params: { id: String(id) }, query: `chain_id=1${query}` })).reply.data as Data
}

const listMarks = (events: readonly Event[]) => events.filter(({ custodian }) => custodian !== undefined).toReversed()

test('stakes and unstakes stand between the flows of a position', async () => {
  const { events } = createRoutes()
  const listed = await ask<Event[]>(events, moved)
  const sides = listMarks(listed).filter(({ type }) => type !== 'reward')
  expect(sides.map(({ type }) => type)).toEqual(['stake', 'unstake', 'stake'])
  expect(sides.map(({ custodian }) => custodian)).toEqual(
    sides.map(() => ({ address: slipstream.gauge, kind: 'gauge' })),
  )
  const flows = await ask<Event[]>(createRoutes({ withGauges: false }).events, moved)
  expect(listed.filter(({ custodian }) => custodian === undefined)).toEqual(flows)
  expect(listMarks(await ask<Event[]>(events, free))).toEqual([])
}, 60_000)

test('profit with rewards is profit where a position was never staked', async () => {
  const { pnl } = createRoutes()
  const told = await ask<Pnl>(pnl, free)
  expect(told['pnl_with_rewards']).toBe(told['pnl_usd_value'] as string)
  expect(told['pnl_with_rewards_missing']).toBeNull()
}, 60_000)

const toE6 = (usd: string | null | undefined) => BigInt((usd ?? 'x').replace('.', ''))

test('rewards are what arrived, also where a wallet has several positions at the gauge', async () => {
  const { events } = createRoutes()
  for (const id of [moved, other]) {
    const rewards = listMarks(await ask<Event[]>(events, id)).flatMap(({ reward }) => reward ?? [])
    const expected = (paid.get(id) ?? []).map(({ amount }) => [slipstream.reward, amount])
    expect(rewards.map(({ token, raw }) => [token, BigInt(raw)])).toEqual(expected)
  }
  expect([...paid.values()].flat().every(({ amount }) => amount > 10n ** 15n)).toBe(true)
  expect([paid.get(moved)?.length, paid.get(other)?.length]).toEqual([3, 1])
}, 60_000)

test('profit with rewards is profit, what was paid at its price, and what can be claimed now', async () => {
  const { pnl, one } = createRoutes()
  const bare = createRoutes({ withGauges: false })
  for (const id of [moved, other]) {
    const told = await ask<Pnl>(pnl, id)
    const { pnl_with_rewards, pnl_with_rewards_missing, ...rest } = told
    const { pnl_with_rewards: _, pnl_with_rewards_missing: __, ...before } = await ask<Pnl>(bare.pnl, id)
    // The voters have the fees of what is staked: they differ from those of a manager that knows no gauge.
    expect(Object.keys(rest)).toEqual(Object.keys(before))
    expect(pnl_with_rewards_missing).toBeNull()
    const full = await ask<{ readonly pnl: Pnl; readonly rewards: readonly { readonly raw: string }[] }>(
      one,
      id,
      '&full=true',
    )
    expect(full.pnl).toEqual(told)
    const claimed = (paid.get(id) ?? []).reduce((sum, each) => sum + each.amount * each.price, 0n)
    const claimable = BigInt(full.rewards[0]?.raw ?? 0) * price
    expect(claimable).toBeGreaterThan(0n)
    // Rounded once, to a millionth of a dollar: 18 decimals of the reward and 8 of its price.
    const rewardsE6 = (claimed + claimable + 5n * 10n ** 19n) / 10n ** 20n
    expect(toE6(pnl_with_rewards) - toE6(rest['pnl_usd_value'])).toBe(rewardsE6)
  }
}, 60_000)

test('claims of several positions in one block are told apart by the state, a withdrawal among them', async () => {
  const { owner } = slipstream
  const before = await readReward()
  await devnet.send([slipstream.claim(owner, other), slipstream.unstake(owner, moved)])
  const total = (await readReward()) - before
  const { events, pnl } = createRoutes()
  const last = async (id: bigint) => {
    const rewards = listMarks(await ask<Event[]>(events, id)).filter(({ type }) => type === 'reward')
    return rewards.at(-1)
  }
  const [first, second] = [await last(other), await last(moved)]
  expect([first?.block_number, first === undefined]).toEqual([second?.block_number, false])
  expect(first?.log_index).not.toBe(second?.log_index as number)
  const amounts = [first, second].map((each) => BigInt(each?.reward?.raw ?? 0))
  expect(amounts.every((amount) => amount > 0n)).toBe(true)
  expect(amounts.reduce((sum, amount) => sum + amount, 0n)).toBe(total)
  // The withdrawal came second, and its claim logs after that of the other.
  expect((first?.log_index ?? 0) < (second?.log_index ?? 0)).toBe(true)
  for (const id of [moved, other]) expect((await ask<Pnl>(pnl, id))['pnl_with_rewards_missing']).toBeNull()
}, 60_000)

/**
 * Makes all blocks final, and a check of what is stored of the wallet's events against the state. `getters`: other ones of
 * the gauge.
 */
async function createCheck() {
  const { events, client } = createRoutes()
  await devnet.rpc.call('anvil_mine', toHex(64))
  for (const id of [moved, other]) await ask(events, id)
  const { db } = database
  const [covered] = await db.run<{ readonly first: number; readonly last: number }>(
    "select min(lower(blocks))::int as first, max(upper(blocks))::int - 1 as last from history_coverage where stream = 'slipstream_wallet'",
    [],
  )
  const { payments } = GAUGE_LOG
  if (covered === undefined || payments === undefined) throw new Error('Cannot find what is stored')
  const target = { chainId: 1, contract: toLowerHex(slipstream.gauge), startBlock: 0 }
  const part = { client, db, fromBlock: covered.first, toBlock: covered.last, subject: toLowerHex(slipstream.owner) }
  return async (getters: Partial<typeof payments.getters> = {}): Promise<void> => {
    const stream = createWalletStream(
      { ...payments, getters: { ...payments.getters, ...getters } },
      createPatientClock(),
    )
    await stream.verify?.(target, part, patient)
  }
}

test('a change of staked liquidity counts a reward, which the next claim pays', async () => {
  const { owner } = slipstream
  await wait(1_800)
  const liquidity = await readLiquidity(devnet, other)
  await devnet.send([slipstream.decreaseStaked(owner, other, liquidity / 3n)])
  await (await createCheck())()
  await wait(1_800)
  const [before] = paid.get(other)?.slice(-1) ?? []
  await claim(other, slipstream.claim(owner, other))
  const [after] = paid.get(other)?.slice(-1) ?? []
  expect([before === after, after === undefined || after.amount < 10n ** 15n]).toEqual([false, false])
  const { events, pnl } = createRoutes()
  const rewards = listMarks(await ask<Event[]>(events, other)).flatMap(({ reward }) => reward ?? [])
  expect(rewards.at(-1)?.raw).toBe(String(after?.amount))
  expect((await ask<Pnl>(pnl, other))['pnl_with_rewards_missing']).toBeNull()
  const check = await createCheck()
  await check()
  // Where no manager shows a change of liquidity, a log must be missing.
  await expect(check({ manager: '0x00000000' })).rejects.toThrow(IncompleteError)
}, 60_000)

test('a burned position has what its gauge paid', async () => {
  const { owner, manager } = slipstream
  const marks = listMarks(await ask<Event[]>(createRoutes().events, moved, '&limit=25'))
  const liquidity = await readLiquidity(devnet, moved)
  await devnet.send(
    [
      decreaseLiquidityCall({ tokenId: moved, owner, liquidity }),
      collectCall({ tokenId: moved, owner }),
      burnCall({ tokenId: moved, owner }),
    ].map((call) => ({ ...call, to: manager })),
  )
  const { events, pnl } = createRoutes()
  expect(listMarks(await ask<Event[]>(events, moved, '&limit=25'))).toEqual(marks)
  const rewards = marks.filter(({ type }) => type === 'reward')
  expect([rewards.length, rewards.every(({ reward }) => reward?.usd != null)]).toEqual([4, true])
  const { pnl_with_rewards, pnl_with_rewards_missing, pnl_usd_value } = await ask<Pnl>(pnl, moved)
  expect(pnl_with_rewards_missing).toBeNull()
  const claimed = (paid.get(moved) ?? []).reduce((sum, each) => sum + each.amount * each.price, 0n)
  const last = BigInt(rewards.at(-1)?.reward?.raw ?? 0) * price
  // Rounded once, to a millionth of a dollar: 18 decimals of the reward and 8 of its price.
  expect(toE6(pnl_with_rewards) - toE6(pnl_usd_value)).toBe((claimed + last + 5n * 10n ** 19n) / 10n ** 20n)
}, 60_000)

test('claims that cannot be told apart, or are missing, are a reason and no guess', async () => {
  const check = await createCheck()
  const { db } = database
  await check()
  // Without a penalty, what each position was due is not what was paid.
  await db.run("delete from custody_event where kind = 'update'", [])
  const { pnl_with_rewards, pnl_with_rewards_missing, pnl_usd_value } = await ask<Pnl>(createRoutes().pnl, moved)
  expect([pnl_with_rewards, pnl_usd_value === null]).toEqual([null, false])
  expect(pnl_with_rewards_missing).toContain('paid for several positions in block')
  await db.run("delete from custody_event where kind = 'reward'", [])
  await expect(check()).rejects.toThrow(IncompleteError)
}, 60_000)
