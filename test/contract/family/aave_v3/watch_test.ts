import { beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { AAVE_V3 } from '../../../../src/family/aave_v3/mod.ts'
import { createWatcher } from '../../../../src/family/aave_v3/watch.ts'
import type { WatchableFamily } from '../../../../src/family/contract.ts'
import { LENDING_FIGURES } from '../../../../src/family/lending/watched.ts'
import type { ConfirmedFigures, Watcher, WatchSubject } from '../../../../src/family/watch.ts'
import { multiplyRational, rational } from '../../../../src/lib/number/rational.ts'
import { type AssetName, MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import {
  borrowCall,
  liquidateCall,
  repayCall,
  setEmodeCall,
  setPriceCall,
  setUseAsCollateralCall,
  supplyCall,
  transferCall,
  withdrawCall,
} from '../../../devnet/aave_v3/calls.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { rawUsd } from '../../../devnet/aave_v3/scenario.ts'
import { exclusiveAave } from '../../../devnet/aave_v3/shared.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { createRandom } from '../../../devnet/random.ts'
import type { Transaction } from '../../../devnet/transaction.ts'
import { callRoute } from '../../../support/call_route.ts'
import { caseCount, IS_FULL } from '../../../support/cases.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import {
  createForecastWatcher,
  readBlockLogs,
  readNewestBlock,
  type WatchedClause,
} from '../../../support/forecast_watcher.ts'
import { startFaultyRpc } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createChain, createClient, DEPLOYMENTS, patient } from './support.ts'

const NAMES = Object.keys(MARKETS) as MarketName[]
const FIGURES = Object.keys(LENDING_FIGURES)
const BLOCKS = caseCount(600, 16)

let devnet: Devnet
let aave: AaveDevnet
let wallets: readonly Address[]

beforeAll(async () => {
  const shared = await exclusiveAave()
  devnet = shared.devnet
  aave = shared.aave
  const random = await aave.randomWallets(24, 60)
  wallets = [...Object.values(aave.wallets), ...random.wallets]
}, 180_000)

const client = () => createClient(createChain(devnet))
const rows = () => [[devnet.chainId, { aaveV3: DEPLOYMENTS }]] as const
const toSubjects = (some: readonly Address[]): WatchSubject[] =>
  some.flatMap((wallet) => NAMES.map((market_id) => ({ wallet, market_id })))

function watcherOver(served = client()): Watcher {
  return createWatcher({
    clients: new Map([[devnet.chainId, served]]),
    deployments: new Map([[devnet.chainId, DEPLOYMENTS]]),
    clock: slowClock,
  })
}

function watched(): WatchableFamily {
  const family = AAVE_V3.configure(new Map(rows()))
  const setup = { chainIds: [devnet.chainId], servesSolana: false, connect: () => ({}) as never }
  const found = family.watch(setup)
  if (found === undefined) throw new Error('Cannot watch Aave')
  return found
}

/** The figures of a subject as triggers would show them. */
function formatFigures(found: ConfirmedFigures | 'gone' | undefined) {
  if (found === undefined || found === 'gone') throw new Error('Expected figures')
  return Object.fromEntries(FIGURES.map((figure) => [figure, found.text(figure)]))
}

describe('confirm()', () => {
  test('gives the figures of the route at the same block, digit by digit', async () => {
    const [list] = createFamilyRoutes(AAVE_V3, { rows: rows(), clients: [client()] })
    if (list === undefined) throw new Error('Cannot find the list')
    const block = await readNewestBlock(devnet.rpc, devnet.chainId)
    const subjects = toSubjects(wallets)
    const confirmed = await watcherOver().confirm(subjects, { client: client(), block }, patient)
    let [held, called] = [0, 0]
    for (const [index, subject] of subjects.entries()) {
      // Of those that none may liquidate one of four, and each with `SEEDS=full`.
      const { is_liquidatable } = formatFigures(confirmed[index])
      if (!IS_FULL && is_liquidatable !== true && index % 4 > 0) continue
      const path = watched().answerPath(subject, devnet.chainId, block.number)
      const [, query = ''] = path.split('?')
      const { reply } = await callRoute(list, { query })
      const { data } = reply as unknown as {
        data: readonly {
          positions: readonly (Record<string, string> & { readonly liquidatable_because: readonly string[] })[]
          calculations: readonly Record<string, string>[]
        }[]
      }
      const [position, calculations] = [data[0]?.positions[0], data[0]?.calculations[0]]
      if (position !== undefined) held++
      expect(formatFigures(confirmed[index])).toEqual({
        health_factor: position?.['healthFactor'] ?? 'MAX',
        net_worth_usd: position?.['netWorthUSD'] ?? '0.000000',
        total_collateral_usd: position?.['totalCollateralUSD'] ?? '0.000000',
        total_debt_usd: position?.['totalDebtUSD'] ?? '0.000000',
        current_ltv_percentage: calculations?.['currentLtvPercentage'] ?? '0.0000',
        is_liquidatable: (position?.liquidatable_because.length ?? 0) > 0,
        due_in_sec: 'MAX',
      })
      if (position !== undefined && position.liquidatable_because.length > 0) called++
    }
    expect(held).toBeGreaterThan(IS_FULL ? 60 : 15)
    expect(called).toBeGreaterThan(0)
  }, 120_000)

  test("compares the pool's own health factor, all of its digits", async () => {
    const block = await readNewestBlock(devnet.rpc, devnet.chainId)
    let compared = 0
    for (const market of NAMES) {
      const truths = await aave.getUserAccountDataMany(market, wallets, block.number)
      const subjects = wallets.map((wallet) => ({ wallet, market_id: market }))
      const confirmed = await watcherOver().confirm(subjects, { client: client(), block }, patient)
      for (const [index, found] of confirmed.entries()) {
        const { totalDebtBase = 0n, healthFactor = 0n } = truths[index] ?? {}
        const value = found === 'gone' ? found : found.value('health_factor')
        expect(value).toEqual(totalDebtBase === 0n ? 'MAX' : rational(healthFactor, 10n ** 18n))
        if (totalDebtBase > 0n) compared++
      }
    }
    expect(compared).toBeGreaterThan(30)
  }, 60_000)

  test('a market that is not configured is gone; a silent market and a broken price stop no other subject', async () => {
    const block = await readNewestBlock(devnet.rpc, devnet.chainId)
    const silent = { market: 'silent', poolAddressesProvider: toWalletAddress('no provider'), startBlock: 0 }
    const watcher = createWatcher({
      clients: new Map([[devnet.chainId, client()]]),
      deployments: new Map([[devnet.chainId, [silent, ...DEPLOYMENTS]]]),
      clock: slowClock,
    })
    const wallet = aave.wallets.borrower
    const ask = (market_id: string) => ({ wallet, market_id })
    const place = { client: client(), block }
    const [gone, unknown, right] = await watcher.confirm([ask('never'), ask('silent'), ask('main')], place, patient)
    expect(gone).toBe('gone')
    expect(formatFigures(unknown)).toEqual(Object.fromEntries(FIGURES.map((figure) => [figure, null])))
    expect(formatFigures(right)).toEqual(formatFigures((await watcherOver().confirm([ask('main')], place, patient))[0]))

    await aave.breakFeed('breakable')
    try {
      const now = { client: client(), block: await readNewestBlock(devnet.rpc, devnet.chainId) }
      const all = await watcherOver().confirm(toSubjects(wallets), now, patient)
      const values = all.map((each) => (each === 'gone' ? each : each.text('health_factor')))
      expect(values.filter((each) => each === null).length).toBeGreaterThan(0)
      expect(values.filter((each) => each === null).length).toBeLessThan(20)
      expect(values).not.toContain('gone')
    } finally {
      await aave.mendFeed('breakable')
    }
  }, 60_000)

  test('reads thousands of wallets in few requests', async () => {
    const proxy = await startFaultyRpc(devnet.rpcUrl)
    try {
      const many = Array.from({ length: 1_200 }, (_, index) => toWalletAddress(`watched ${index}`))
      const served = createClient(createChain(devnet, { rpcUrls: [proxy.url] }))
      const place = { client: served, block: await readNewestBlock(devnet.rpc, devnet.chainId) }
      const subjects = many.map((wallet) => ({ wallet, market_id: 'main' }))
      const confirmed = await watcherOver(served).confirm([...subjects, ...subjects], place, patient)
      expect(confirmed).toHaveLength(2_400)
      expect(proxy.seen.filter(({ method }) => method === 'eth_call').length).toBe(5)
    } finally {
      await proxy.stop()
    }
  }, 60_000)
})

describe('watched()', () => {
  test('takes what the routes take, in one form', () => {
    const { subject, answerPath } = watched()
    const schema = subject(devnet.chainId)
    const parse = (value: unknown) => {
      const run = schema['~run']({ value }, {})
      if ('then' in run) throw new Error('Expected a schema that does not wait')
      return run.typed ? run.value : undefined
    }
    const wallet = aave.wallets.borrower
    expect(parse({ market_id: 'core', wallet: wallet.toLowerCase() })).toEqual({ wallet, market_id: 'main' })
    expect(parse({ wallet })).toEqual({ wallet, market_id: 'main' })
    expect(parse({ wallet, market_id: 'nowhere' })).toBeUndefined()
    expect(parse({ wallet, token_id: '1' })).toBeUndefined()
    expect(answerPath({ wallet, market_id: 'lido' }, 1, 7n)).toBe(
      `/v1/lending/aave-v3?wallet=${wallet}&chain_id=1&market_id=lido&at_block=7`,
    )
  })
})

const MOVED = ['weth', 'wbtc', 'wsteth', 'weeth', 'volatile', 'mkr'] as const satisfies readonly AssetName[]
const USED = ['weth', 'wbtc', 'usdc', 'dai', 'usdt'] as const satisfies readonly AssetName[]

describe('forecaster', () => {
  test(`selects every subject that crosses a level in ${BLOCKS} blocks of prices, loans, repayments and liquidations`, async () => {
    const random = createRandom(2_411)
    const watcher = watcherOver()
    const subjects = toSubjects(wallets)
    const start = { client: client(), block: await readNewestBlock(devnet.rpc, devnet.chainId) }
    const begun = await watcher.confirm(subjects, start, patient)
    const clauses = subjects.flatMap((subject, index): WatchedClause[] => {
      const found = begun[index]
      if (found === undefined || found === 'gone') return []
      return FIGURES.flatMap((figure): WatchedClause[] => {
        const value = found.value(figure)
        if (value === undefined) return []
        if (typeof value === 'boolean') return [{ subject, figure }]
        const around = rational(BigInt(90 + random.below(20)), 100n)
        const below = value === 'MAX' || value.numerator === 0n ? rational(3n, 2n) : multiplyRational(value, around)
        return [{ subject, figure, below }]
      })
    })
    const screened = createForecastWatcher({ watcher, client: client(), rpc: devnet.rpc, clauses })
    const prices = await aave.getPrices('main')
    let [confirmed, crossings, crossed] = [0, 0, 0]
    let before: readonly (boolean | undefined)[] = []
    for (let at = 0; at < BLOCKS; at++) {
      await devnet.send(createActs(random, prices), { mayRevert: true })
      const block = await readNewestBlock(devnet.rpc, devnet.chainId)
      const step = await screened.step(block)
      expect({ block: block.number, truths: step.screened }).toEqual({ block: block.number, truths: step.exact })
      if (at > 0) {
        confirmed += step.confirmed
        crossed = step.exact.filter((truth, index) => truth !== before[index]).length
        crossings += crossed
      }
      before = step.exact
    }
    expect(crossings).toBeGreaterThan(BLOCKS / 2)
    // The purpose of the forecaster: most subjects are never confirmed.
    expect(confirmed / (BLOCKS - 1) / clauses.length).toBeLessThan(0.35)
    for (const [asset, price] of prices) await devnet.send([setPriceCall(asset, price)])
  }, 900_000)

  test('without logs no crossing is invented: crossings are confirmed correctly, only later', async () => {
    const watcher = watcherOver()
    const wallet = toWalletAddress('aave unseen')
    const subject = { wallet, market_id: 'main' }
    const clauses = [{ subject, figure: 'total_collateral_usd', below: rational(50n, 1n) }]
    const screened = createForecastWatcher({
      watcher,
      client: client(),
      rpc: devnet.rpc,
      clauses,
      dropsLog: () => true,
    })
    const seen = async () => (await screened.step(await readNewestBlock(devnet.rpc, devnet.chainId))).screened
    expect(await seen()).toEqual([true])
    await aave.supply({ market: 'main', wallet, asset: 'weth', amount: rawUsd('weth', 100) })
    expect(await seen()).toEqual([true])
    const again = createForecastWatcher({ watcher, client: client(), rpc: devnet.rpc, clauses })
    expect((await again.step(await readNewestBlock(devnet.rpc, devnet.chainId))).screened).toEqual([false])
  }, 60_000)
})

/** What happens in one block or two: prices move, and some wallets do something that may revert. */
function createActs(random: ReturnType<typeof createRandom>, prices: ReadonlyMap<AssetName, bigint>): Transaction[] {
  const acts = Array.from({ length: random.below(4) }, (): Transaction => {
    const market = random.pick(NAMES)
    const [wallet, asset] = [random.pick(wallets), random.pick(USED)]
    const movement = { market, wallet, asset, amount: rawUsd(asset, 1 + random.below(2_000)) }
    switch (random.below(9)) {
      case 0:
        return borrowCall(movement)
      case 1:
        return repayCall(movement)
      case 2:
        return withdrawCall(movement)
      case 3:
        return setUseAsCollateralCall({ ...movement, on: random.below(2) === 0 })
      case 4:
        return setEmodeCall({ market, wallet, category: random.below(3) })
      case 5:
        return liquidateCall({
          market,
          wallet,
          collateral: random.pick(MOVED),
          debt: asset,
          receiveAToken: random.below(2) === 0,
        })
      case 6: {
        const token = aave.markets[market].reserves.find(({ name }) => name === asset)?.aToken
        return token === undefined
          ? supplyCall(movement)
          : transferCall({ token, from: wallet, to: random.pick(wallets), amount: movement.amount })
      }
      default:
        return supplyCall(movement)
    }
  })
  if (random.below(2) === 0) return acts.length > 0 ? acts : [createMove(random, prices)]
  return [...acts, createMove(random, prices)]
}

function createMove(random: ReturnType<typeof createRandom>, prices: ReadonlyMap<AssetName, bigint>): Transaction {
  const asset = random.pick(MOVED)
  return setPriceCall(asset, ((prices.get(asset) ?? 10n ** 8n) * BigInt(85 + random.below(31))) / 100n)
}

describe('events', () => {
  test("reads wallets' events in a block, and ignores logs of other contracts", async () => {
    const watcher = watcherOver()
    const [wallet, other] = [toWalletAddress('aave happening'), toWalletAddress('aave other')]
    const subject = { wallet, market_id: 'main' }
    const amount = rawUsd('weth', 1_000)
    const acts = [
      supplyCall({ market: 'main', wallet, asset: 'weth', amount }),
      borrowCall({ market: 'main', wallet, asset: 'usdc', amount: rawUsd('usdc', 10) }),
      supplyCall({ market: 'lido', wallet, asset: 'weth', amount }),
      supplyCall({ market: 'main', wallet: other, asset: 'weth', amount }),
      repayCall({ market: 'main', wallet, asset: 'usdc', amount: rawUsd('usdc', 5) }),
      withdrawCall({ market: 'main', wallet, asset: 'weth', amount: amount / 2n }),
    ]
    await devnet.send(acts)
    const block = await readNewestBlock(devnet.rpc, devnet.chainId)
    const place = { client: client(), block }
    const filters = watcher.events?.filters(devnet.chainId) ?? []
    const logs = await readBlockLogs(devnet.rpc, { filters, block })
    const forged = logs.map((log) => ({ ...log, address: toWalletAddress('forger'), logIndex: log.logIndex + 1_000 }))
    const found = await watcher.events?.read([...logs, ...forged], [subject], place, patient)
    expect(found?.map(({ type }) => type)).toEqual(['supply', 'borrow', 'repay', 'withdraw'])
    expect(found?.every((each) => each.subject === subject && each.blockHash === block.hash)).toBe(true)
    // Events of skipped blocks are returned together.
    await devnet.send(acts)
    const next = await readNewestBlock(devnet.rpc, devnet.chainId)
    const both = await readBlockLogs(devnet.rpc, { filters, block: next, after: block.number - 1n })
    const later = await watcher.events?.read(both, [subject], { client: client(), block: next }, patient)
    expect(later?.slice(0, 4)).toEqual([...(found ?? [])])
    expect(later?.slice(4).map(({ type, blockHash }) => [type, blockHash])).toEqual(
      (found ?? []).map(({ type }) => [type, next.hash]),
    )
    // The market's contracts are cached now, and the filter names no other.
    const [filter] = watcher.events?.filters(devnet.chainId) ?? []
    expect(filter?.addresses).toContain(MARKETS.main.pool.toLowerCase() as Address)
    expect(await readBlockLogs(devnet.rpc, { filters: filter === undefined ? [] : [filter], block })).toEqual(logs)
  }, 60_000)
})
