import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, erc20Abi, type Hex, toHex, zeroAddress } from 'viem'
import { SLIPSTREAM } from '../../../../src/family/slipstream/mod.ts'
import type { FinanceClient } from '../../../../src/finance/chain.ts'
import type { Route } from '../../../../src/http/route/route.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { addSlipstream, PERIOD_SEC, readLiquidity, type SlipstreamDevnet } from '../../../devnet/slipstream.ts'
import type { Transaction } from '../../../devnet/transaction.ts'
import { collectCall, decreaseLiquidityCall } from '../../../devnet/uniswap_v3_calls.ts'
import { callRoute } from '../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { countedClient } from '../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { readInNextBlock } from '../../portfolio/next_block.ts'
import { allRows, createPortfolio } from '../../portfolio/support.ts'

/*
 * Positions over stand-ins that pay and log: what arrives is what the contracts pay when they are executed. That the
 * formulas are Slipstream's own, the vectors prove.
 */

interface Stated {
  readonly token_id: string
  readonly wallet: Address
  readonly position_state: { readonly owner: Address; readonly custodian: object | null }
  readonly uncollected_fees: Readonly<Record<'token0' | 'token1', { readonly raw: string }>> | null
  readonly usd: { readonly uncollected_fees: string }
  readonly rewards: readonly {
    readonly raw: string
    readonly usd: string
    readonly penalty: { readonly raw: string; readonly until: string } | null
  }[]
}

let devnet: Devnet
let database: TestDatabase
let slipstream: SlipstreamDevnet
let client: FinanceClient
let list: Route
let row: { readonly slipstream: readonly object[] }
/** In range, and above the price; the wider one stays with its owner. */
let staked: readonly [bigint, bigint]
let held: bigint
const MIN_STAKE_SEC = 3 * 86_400
const PENALTY_BPS = 3_000

beforeAll(async () => {
  database = await testDatabase()
  devnet = await startDevnet()
  slipstream = await addSlipstream(devnet)
  const { owner, manager, factory, voter, tokenIds, reward, rewardFeed } = slipstream
  staked = [tokenIds[0], tokenIds[2]]
  held = tokenIds[1]
  await devnet.send(staked.flatMap((id) => slipstream.stake(owner, id)))
  const chain = createDevnetChain(devnet)
  const usdFeeds = { ...chain.prices.usdFeeds, [reward]: { feed: rewardFeed, heartbeatSec: 86_400 } }
  client = countedClient({ ...chain, prices: { ...chain.prices, usdFeeds } }).client
  row = { slipstream: [{ manager, factory, voter, startBlock: 0, code: 'aerodrome_slipstream' }] }
  const [first] = createFamilyRoutes(SLIPSTREAM, { clients: [client], rows: [[1, row]] })
  if (first === undefined) throw new Error('Cannot find the routes')
  list = first
}, 120_000)
afterAll(async () => {
  await devnet?.stop()
  await database?.close()
})

async function listAll(wallet: Address, query = ''): Promise<readonly Stated[]> {
  return (await callRoute(list, { query: `wallet=${wallet}${query}` })).reply.data as readonly Stated[]
}

async function wait(seconds: number): Promise<void> {
  await devnet.rpc.call('evm_increaseTime', seconds)
  await devnet.rpc.call('evm_mine')
}

function readBalance(token: Address, wallet: Address): Promise<bigint> {
  return devnet.client.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [wallet] })
}

/** What transactions in one block of this time bring a wallet, by token; undone. */
async function execute(
  transactions: readonly Transaction[],
  { wallet, tokens, timeSec }: { wallet: Address; tokens: readonly Address[]; timeSec: bigint },
): Promise<readonly bigint[]> {
  const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
  const before = await Promise.all(tokens.map((token) => readBalance(token, wallet)))
  await devnet.rpc.call('evm_setNextBlockTimestamp', toHex(timeSec))
  await devnet.send(transactions)
  const after = await Promise.all(tokens.map((token) => readBalance(token, wallet)))
  await devnet.rpc.call('evm_revert', snapshot)
  return after.map((balance, index) => balance - (before[index] ?? 0n))
}

/** Compares the reward of each staked position with what claiming it pays at the same time; returns what is shown. */
async function checkRewards(): Promise<readonly Stated['rewards'][number][]> {
  const { owner, reward } = slipstream
  const { found, timeSec } = await readInNextBlock(devnet, () => listAll(owner, '&full=true'))
  const shown: Stated['rewards'][number][] = []
  for (const id of staked) {
    const { rewards } = found.find(({ token_id }) => token_id === String(id)) ?? { rewards: [] }
    const [paid] = await execute([slipstream.claim(owner, id)], { wallet: owner, tokens: [reward], timeSec })
    expect([id, rewards.map(({ raw }) => raw)]).toEqual([id, [String(paid)]])
    shown.push(...rewards)
  }
  return shown
}

test('a staked position is of the wallet that staked it, and earns no fees meanwhile', async () => {
  const { owner, gauge, pool } = slipstream
  await slipstream.trade(pool.token0, 90_000_000n)
  const positions = await listAll(owner, '&full=true')
  const custodian = { address: gauge, kind: 'gauge' }
  const expected = new Map<bigint, object | null>([...staked.map((id) => [id, custodian] as const), [held, null]])
  expect(
    new Map(positions.map(({ token_id, position_state }) => [BigInt(token_id), position_state.custodian])),
  ).toEqual(expected)
  expect(positions.map(({ wallet }) => wallet)).toEqual(positions.map(() => owner))
  const fees = (id: bigint) => positions.find(({ token_id }) => token_id === String(id))?.uncollected_fees?.token0.raw
  expect(fees(staked[0])).toBe('0')
  expect(BigInt(fees(held) ?? 0)).toBeGreaterThan(0n)
  for (const wallet of [gauge, toWalletAddress('a stranger who stakes nothing')]) {
    expect(await listAll(wallet)).toEqual([])
  }
})

test('its reward is what claiming pays: in range or not, with its penalty, until the reserve is spent', async () => {
  const { owner, pool } = slipstream
  await wait(3_600)
  const [early, outside] = await checkRewards()
  expect(BigInt(early?.raw ?? 0)).toBeGreaterThan(0n)
  expect(Number(early?.usd)).toBeCloseTo((1.2 * Number(early?.raw)) / 1e18, 4)
  expect([outside?.raw, early?.penalty]).toEqual(['0', null])
  await devnet.send([slipstream.setPenalty(PENALTY_BPS, MIN_STAKE_SEC)])
  const [penalized] = await checkRewards()
  const due = BigInt(penalized?.raw ?? 0) + BigInt(penalized?.penalty?.raw ?? 0)
  expect(penalized?.penalty?.raw).toBe(String((due * BigInt(PENALTY_BPS)) / 10_000n))
  await devnet.send([slipstream.claim(owner, staked[0])])
  // Up into the range of the other, and back.
  await slipstream.trade(pool.token1, 400_000_000_000_000_000n)
  await wait(MIN_STAKE_SEC)
  expect((await checkRewards())[0]?.penalty).toBeNull()
  await slipstream.trade(pool.token0, 1_500_000_000n)
  await wait(2 * PERIOD_SEC)
  const ended = (await checkRewards()).map(({ raw }) => raw)
  await wait(PERIOD_SEC)
  expect((await checkRewards()).map(({ raw }) => raw)).toEqual(ended)
  await devnet.send(slipstream.pay())
  await wait(3_600)
  expect((await checkRewards()).map(({ raw }) => raw)).not.toEqual(ended)
}, 60_000)

test('what can be collected has its reward, less the penalty, beside the fees of what is held', async () => {
  const { owner, pool } = slipstream
  const deployments = { uniswapV3: [], aaveV3: [], ...row }
  const portfolio = createPortfolio([client], { db: database.db, more: [SLIPSTREAM], deployments })
  const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
  await slipstream.trade(pool.token0, 30_000_000n)
  // Staked anew, so that the shortest time begins again.
  await devnet.send([slipstream.unstake(owner, staked[0]), ...slipstream.stake(owner, staked[0]), ...slipstream.pay()])
  await wait(3_600)
  for (const bps of [0, PENALTY_BPS]) {
    await devnet.send([slipstream.setPenalty(bps, MIN_STAKE_SEC)])
    const { found } = await readInNextBlock(devnet, async () => ({
      positions: await listAll(owner, '&full=true'),
      overview: (await portfolio.overview(`wallet=${owner}`)).reply.data as {
        readonly earnings: { readonly to_collect_usd: string }
      },
    }))
    const rewards = found.positions.flatMap((each) => each.rewards)
    const sum = (values: readonly (number | string)[]) => values.reduce<number>((all, each) => all + Number(each), 0)
    const ofRewards = sum(rewards.map(({ usd }) => usd))
    const ofFees = sum(found.positions.map(({ usd }) => usd.uncollected_fees))
    const lost = sum(rewards.map(({ penalty }) => (1.2 * Number(penalty?.raw ?? 0)) / 1e18))
    expect([bps, lost > 1]).toEqual([bps, bps > 0])
    expect(Math.min(ofRewards, ofFees)).toBeGreaterThan(0.001)
    // The value of each amount is rounded to a millionth of a dollar, two of a position's fees, and so is the sum.
    const difference = Number(found.overview.earnings.to_collect_usd) - ofRewards - ofFees
    expect(Math.abs(difference)).toBeLessThan(1e-6 * (rewards.length + 2 * found.positions.length + 1))
  }
  await devnet.rpc.call('evm_revert', snapshot)
}, 60_000)

test('a gauge that was created later is in the next list', async () => {
  const { owner } = slipstream
  await listAll(owner)
  const { usdc, dai } = devnet.addresses.tokens
  const later = await slipstream.addPool([usdc.address, dai.address])
  await devnet.send(slipstream.stake(owner, later.tokenId, later.gauge))
  const found = (await listAll(owner)).find(({ token_id }) => token_id === String(later.tokenId))
  expect(found).toMatchObject({ position_state: { custodian: { address: later.gauge, kind: 'gauge' } } })
}, 60_000)

test.each([
  ['after the shortest time of staking', 0],
  ['before it, less the penalty', MIN_STAKE_SEC],
])(
  'everything arrives to the wei when it is left, %s',
  async (_, minStakeSec) => {
    const { owner, manager, pool, reward } = slipstream
    const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
    await devnet.send([
      slipstream.setPenalty(PENALTY_BPS, minStakeSec),
      ...[slipstream.unstake(owner, staked[0]), ...slipstream.stake(owner, staked[0]), ...slipstream.pay()],
    ])
    await slipstream.trade(pool.token0, 40_000_000n)
    await wait(3_600)
    const portfolio = createPortfolio([client], {
      more: [SLIPSTREAM],
      deployments: { uniswapV3: [], aaveV3: [], ...row },
    })
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
    const own = [...staked, held].map(String)
    const ofThem = ({ position }: { readonly position: Readonly<Record<string, unknown>> | null }) =>
      own.includes(String(position?.['token_id']))
    expect(new Set(found.rows.filter(ofThem).map(({ position }) => position?.['token_id']))).toEqual(new Set(own))
    const tokens = [pool.token0, pool.token1, reward]
    const leave = await Promise.all(
      [...staked, held].map(async (tokenId): Promise<readonly Transaction[]> => {
        const liquidity = await readLiquidity(devnet, tokenId)
        return [
          ...(tokenId === held ? [] : [slipstream.unstake(owner, tokenId)]),
          { ...decreaseLiquidityCall({ tokenId, owner, liquidity }), to: manager },
          { ...collectCall({ tokenId, owner }), to: manager },
        ]
      }),
    )
    const grown = await execute(leave.flat(), { wallet: owner, tokens, timeSec })
    const rows = found.exit.rows.filter(ofThem)
    const told = tokens.map((token) =>
      rows
        .filter(({ token: { id } }) => id === token)
        .reduce((sum, { arrives }) => sum + BigInt(arrives?.raw ?? 0), 0n),
    )
    expect(told).toEqual([...grown])
    expect(told.every((each) => each > 0n)).toBe(true)
    expect(rows.filter(({ blocked_by }) => blocked_by !== null)).toEqual([])
    await devnet.rpc.call('evm_revert', snapshot)
  },
  60_000,
)

test('back in the hands of its owner, it is listed as such', async () => {
  const { owner } = slipstream
  await devnet.send([slipstream.unstake(owner, staked[0])])
  const found = (await listAll(owner)).find(({ token_id }) => token_id === String(staked[0]))
  expect(found).toMatchObject({ wallet: owner, position_state: { owner, custodian: null } })
  expect(found?.wallet).not.toBe(zeroAddress)
})
