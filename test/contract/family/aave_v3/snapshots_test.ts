import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, type Hex, pad } from 'viem'
import type { PinnedBlock } from '../../../../src/chain/block.ts'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import { AAVE_V3 } from '../../../../src/family/aave_v3/mod.ts'
import { createLendingReader } from '../../../../src/family/aave_v3/read/read.ts'
import { snapshotMarket } from '../../../../src/family/aave_v3/snapshot.ts'
import { lendingSnapshots, type SnapshotFigures } from '../../../../src/family/lending/series.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { type DailyParts, takeDailySnapshots } from '../../../../src/finance/series/daily.ts'
import { createSnapshotTaker } from '../../../../src/finance/series/snapshot_taker.ts'
import { createSnapshotStore } from '../../../../src/finance/series/store.ts'
import { createMidnights } from '../../../../src/history/midnight.ts'
import type { Route } from '../../../../src/http/route/route.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { PendingError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { MARKETS, type MarketName, AAVE_WALLETS as W } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { SCENARIO_SEC } from '../../../devnet/aave_v3/scenario.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { callRoute } from '../../../support/call_route.ts'
import { caseCount, IS_FULL } from '../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'
import { createChain, patient } from './support.ts'

const DAY_SEC = 86_400
/** One of so many series is compared. */
const SHARE = IS_FULL ? 2 : 8
const SNAPSHOTS = '/v1/lending/aave-v3/position/:chain_id/snapshots'
const TRANSFER: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

let devnet: Devnet
let aave: AaveDevnet
let database: TestDatabase
let client: EvmClient<FinanceChain>
/** Every block of the chain. */
let blocks: readonly { readonly number: bigint; readonly timeSec: number }[]
let crowd: readonly Address[]

beforeAll(async () => {
  database = await testDatabase()
  devnet = await startDevnet({ ageSec: SCENARIO_SEC + 60 * DAY_SEC })
  aave = await devnet.aave()
  crowd = (await aave.randomWallets(77, 24)).wallets
  await sharedMidnight()
  client = createChainClient({ chain: createChain(devnet), clock: createHurriedClock(), log: silentLog })
  blocks = await allBlocks()
}, 180_000)

afterAll(async () => {
  client?.close()
  await devnet?.stop()
  await database?.close()
}, 60_000)

/** Three blocks at one midnight: the wallet supplies in the second and withdraws in the third and after it. */
async function sharedMidnight(): Promise<void> {
  const { timestamp } = await devnet.client.getBlock()
  const midnight = (Math.floor(Number(timestamp) / DAY_SEC) + 2) * DAY_SEC
  const wallet = W.supplier
  for (const step of [1n, 2n, 3n]) {
    await devnet.rpc.call('evm_setNextBlockTimestamp', midnight)
    await aave.supply({ market: 'main', wallet, asset: 'dai', amount: step * 10n ** 20n })
  }
  await devnet.rpc.call('evm_setNextBlockTimestamp', midnight + 1)
  await aave.withdraw({ market: 'main', wallet, asset: 'dai', amount: 10n ** 20n })
  const times = (await allBlocks()).slice(-4).map(({ timeSec }) => timeSec - midnight)
  expect(times).toEqual([0, 0, 0, 1])
  await aave.warp(DAY_SEC / 2)
  await aave.warp(DAY_SEC / 2)
}

async function allBlocks() {
  const newest = Number(await devnet.client.getBlockNumber({ cacheTime: 0 }))
  const calls = Array.from({ length: newest + 1 }, (_, number) => ({
    method: 'eth_getBlockByNumber',
    params: [`0x${number.toString(16)}`, false],
  }))
  const headers = await devnet.rpc.batch<{ readonly number: Hex; readonly timestamp: Hex }>(calls)
  return headers.map(({ number, timestamp }) => ({ number: BigInt(number), timeSec: Number(timestamp) }))
}

/** A clock that stands at the chain's newest block. */
function chainClock(): Clock {
  const nowMs = (blocks.at(-1)?.timeSec ?? 0) * 1_000
  return { ...slowClock, now: () => nowMs }
}

interface Over {
  readonly client?: EvmClient<FinanceChain>
  readonly db?: TestDatabase
}

function routesOver({ client: over = client, db = database }: Over = {}): readonly Route[] {
  const aaveV3 = Object.entries(MARKETS).map(([market, { provider }]) => ({
    market,
    poolAddressesProvider: provider,
    startBlock: 0,
  }))
  return createFamilyRoutes(AAVE_V3, { clients: [over], rows: [[1, { aaveV3 }]], db: db.db, clock: chainClock() })
}

function createRoute(path: string, over?: Over): Route {
  const found = routesOver(over).find((each) => each.path === path)
  if (found === undefined) throw new Error('There is no such route')
  return found
}

const route = (over?: Over) => createRoute(SNAPSHOTS, over)
const listRoute = () => createRoute('/v1/lending/aave-v3')

interface Snapshot {
  readonly timestamp: number
  readonly collateral_usd: string
  readonly debt_usd: string
  readonly net_worth_usd: string
  readonly health_factor: string
}

/** Asks for a series, again while days of it are still being read: how many one answer waits for is the machine's. */
async function snapshots(
  asked: Route,
  wallet: Address,
  { market = 'main', more = '' }: { market?: MarketName; more?: string } = {},
) {
  const query = `wallet=${wallet}&market_id=${market}${more}`
  const ask = (): ReturnType<typeof callRoute> =>
    callRoute(asked, { params: { chain_id: '1' }, query }).catch((error: unknown) => {
      if (!(error instanceof PendingError)) throw error
      return ask()
    })
  const { reply, credits } = await ask()
  const { headers = {}, asOf, unwitnessed } = reply
  return { data: reply.data as readonly Snapshot[], headers, asOf, unwitnessed, credits }
}

/** The last block at or before a time, looked for among all. */
function findBlock(timeSec: number): bigint {
  const found = blocks.findLast((block) => block.timeSec <= timeSec)
  if (found === undefined) throw new Error('The chain began later')
  return found.number
}

/** The midnights that a wallet's series must have: those after the first transfer of a supply token to it. */
async function listMidnights(wallet: Address, market: MarketName): Promise<number[]> {
  const tokens = aave.markets[market].reserves.map(({ aToken }) => aToken)
  const filter = { fromBlock: '0x0', address: tokens, topics: [TRANSFER, null, pad(wallet).toLowerCase()] }
  const logs = await devnet.rpc.call<{ readonly blockNumber: Hex }[]>('eth_getLogs', filter)
  const [first] = logs.map(({ blockNumber }) => blocks[Number(blockNumber)]?.timeSec ?? 0)
  if (first === undefined) return []
  const last = Math.floor((blocks.at(-1)?.timeSec ?? 0) / DAY_SEC)
  const midnights: number[] = []
  for (let day = Math.ceil(first / DAY_SEC); day <= last; day++) midnights.push(day * DAY_SEC)
  return midnights
}

/** An amount with 8 decimals as the answer shows it: 6 digits, half away from zero. */
function usd(e8: bigint): string {
  const micro = (e8 + 50n) / 100n
  return `${micro / 1_000_000n}.${(micro % 1_000_000n).toString().padStart(6, '0')}`
}

/** 18 decimals, cut to 4; `MAX` without debt. */
function health(wad: bigint): string {
  if (wad === 2n ** 256n - 1n) return 'MAX'
  const cut = wad / 10n ** 14n
  return `${cut / 10_000n}.${(cut % 10_000n).toString().padStart(4, '0')}`
}

interface Subject {
  readonly wallet: Address
  readonly market: MarketName
}

function subjects(): Subject[] {
  const named = Object.values(W).flatMap((wallet) =>
    (['main', 'lido', 'v3_0'] as const).map((market) => ({ wallet, market })),
  )
  const all = [
    ...named,
    ...crowd.flatMap((wallet) => (['main', 'v3_0'] as const).map((market) => ({ wallet, market }))),
  ]
  return all.filter((_, index) => index % SHARE === 0)
}

test("every snapshot equals the pool's answer at the last block of that midnight, from the first movement on", async () => {
  const asked = route()
  const held = { days: 0, zeros: 0, debts: 0, old: 0, series: 0 }
  for (const { wallet, market } of subjects()) {
    const { data, headers, unwitnessed, credits } = await snapshots(asked, wallet, { market })
    const expected = await listMidnights(wallet, market)
    expect(credits).toBe(2)
    expect(headers).toEqual({})
    expect(unwitnessed).toEqual(data.length > 0 ? [1] : undefined)
    const truth = await readTruth(wallet, market, expected)
    const known = expected.filter((_, index) => truth[index] !== undefined)
    expect(data.map(({ timestamp }) => timestamp)).toEqual(known)
    const said = data.map(({ collateral_usd, debt_usd, health_factor }) => [collateral_usd, debt_usd, health_factor])
    expect(said).toEqual(truth.filter((each) => each !== undefined))
    if (data.length > 0) held.series++
    held.days += data.length
    if (market === 'v3_0') held.old += data.length
    held.zeros += data.filter(({ collateral_usd, debt_usd }) => Number(collateral_usd) + Number(debt_usd) === 0).length
    held.debts += data.filter(({ health_factor }) => health_factor !== 'MAX').length
  }
  // Enough of each kind, or the comparison proves little.
  expect(held.days).toBeGreaterThan(2_000 / SHARE)
  expect(held.old).toBeGreaterThan(200 / SHARE)
  expect(held.debts).toBeGreaterThan(500 / SHARE)
  expect(held.zeros).toBeGreaterThan(20 / SHARE)
}, 120_000)

/** What `getUserAccountData` answers at each midnight; undefined if it reverts. */
async function readTruth(wallet: Address, market: MarketName, midnights: readonly number[]) {
  return await Promise.all(
    midnights.map(async (midnight) => {
      try {
        const account = await aave.getUserAccountData(market, wallet, findBlock(midnight))
        return [usd(account.totalCollateralBase), usd(account.totalDebtBase), health(account.healthFactor)]
      } catch {
        return undefined
      }
    }),
  )
}

test('a snapshot equals the live list at that midnight, net worth included', async () => {
  const asked = route()
  const list = listRoute()
  for (const wallet of [W.borrower, W.receiverBorrower, W.badDebt, W.left, W.supplier]) {
    for (const snapshot of (await snapshots(asked, wallet)).data.slice(0, caseCount(40, 2))) {
      const query = `wallet=${wallet}&market_id=main&at_time=${snapshot.timestamp}`
      const { reply } = await callRoute(list, { query })
      const [entry] = reply.data as { readonly positions: readonly Record<string, string>[] }[]
      const zero = '0.000000'
      const live = entry?.positions[0]
      expect(snapshot).toEqual({
        timestamp: snapshot.timestamp,
        collateral_usd: live?.['totalCollateralUSD'] ?? zero,
        debt_usd: live?.['totalDebtUSD'] ?? zero,
        net_worth_usd: live?.['netWorthUSD'] ?? zero,
        health_factor: live?.['healthFactor'] ?? 'MAX',
      })
    }
  }
}, 60_000)

test('max_snapshots keeps the newest; nothing stored is read again; a wallet without a past has an empty list', async () => {
  const counted = countedClient()
  const asked = route({ client: counted.client })
  const all = (await snapshots(asked, W.borrower)).data
  const before = counted.calls()
  const newest = await snapshots(asked, W.borrower, { more: '&max_snapshots=3' })
  expect(newest.data).toEqual(all.slice(-3))
  expect(counted.calls()).toBe(before)
  expect(newest.asOf).toMatchObject([{ chainId: 1, blockNumber: findBlock(all.at(-1)?.timestamp ?? 0) }])
  expect((await snapshots(asked, '0x000000000000000000000000000000000000dEaD')).data).toEqual([])
})

test('wallets that are asked for at the same time share each midnight', async () => {
  const fresh = await testDatabase()
  try {
    const counted = countedClient()
    const asked = route({ client: counted.client, db: fresh })
    const wallets = [W.borrower, W.emode, W.mixedEmode, W.switchedOff, W.isolated]
    await Promise.all(wallets.map((wallet) => snapshots(asked, wallet)))
    const days = (await snapshots(asked, W.borrower)).data.length
    // Each reads once for each midnight in company, and alone it halves its way to the first one.
    expect(counted.calls('eth_call')).toBeLessThan(days * 1.5 + wallets.length * 14)
    const stored = await fresh.db.run<{ n: string }>('select count(*) as n from lending_snapshot', [])
    expect(Number(stored[0]?.n)).toBeGreaterThan(days * (wallets.length - 1))
  } finally {
    await fresh.close()
  }
}, 60_000)

describe('without an endpoint that keeps old state', () => {
  /** A node that keeps the state of less than a day, before the same chain. */
  async function forgetful(): Promise<{ readonly rpc: FaultyRpc; readonly client: EvmClient<FinanceChain> }> {
    const rpc = await startFaultyRpc(devnet.rpcUrl)
    const times = new Map<string, number>()
    for (const { number, timeSec } of blocks) {
      const { hash } = await devnet.client.getBlock({ blockNumber: number })
      times.set(hash, timeSec)
    }
    rpc.rule(({ method, params }) => {
      const at = params[1]
      if (method !== 'eth_call' || typeof at !== 'object' || at === null || !('blockHash' in at)) return undefined
      const newest = blocks.at(-1)?.timeSec ?? 0
      const isOld = (times.get(String(at.blockHash)) ?? newest) < newest - 0.8 * DAY_SEC
      return isOld ? { kind: 'error', error: { code: -32000, message: 'missing trie node 9f (path )' } } : undefined
    })
    const chain = createChain(devnet, { rpcUrls: [rpc.url] })
    return { rpc, client: createChainClient({ chain, clock: createHurriedClock(), log: silentLog }) }
  }

  test("the series begins at the node's oldest state, names that day, and grows by each midnight that the service takes", async () => {
    const fresh = await testDatabase()
    const node = await forgetful()
    try {
      const ask = () => snapshots(route({ client: node.client, db: fresh }), W.borrower)
      const first = await ask()
      const whole = await listMidnights(W.borrower, 'main')
      expect(first.data.map(({ timestamp }) => timestamp)).toEqual(whole.slice(-1))
      expect(first.headers).toEqual({ 'x-snapshots-from': formatDate(whole.at(-1)) })
      for (let half = 0; half < 6; half++) {
        await aave.warp(DAY_SEC / 2)
        blocks = await allBlocks()
        await takeDailySnapshots(createParts(node.client, fresh), patient)
      }
      // No request came meanwhile, and by now the node has dropped all but the last of them.
      const later = await ask()
      const now = await listMidnights(W.borrower, 'main')
      expect(later.data.map(({ timestamp }) => timestamp)).toEqual(now.slice(-4))
      expect(later.headers).toEqual(first.headers)
      const truth = await readTruth(W.borrower, 'main', now.slice(-4))
      expect(later.data.map((each) => [each.collateral_usd, each.debt_usd, each.health_factor])).toEqual(
        truth as string[][],
      )
      // An endpoint that keeps everything completes it.
      const completed = await snapshots(route({ db: fresh }), W.borrower)
      expect(completed.data.map(({ timestamp }) => timestamp)).toEqual(now)
      expect(completed.headers).toEqual({})
    } finally {
      node.client.close()
      await node.rpc.stop()
      await fresh.close()
    }
  }, 60_000)
})

describe('the daily job', () => {
  test('several processes share the wallets; none is taken twice, and none while snapshots are switched off', async () => {
    const fresh = await testDatabase()
    try {
      const [store, other, third] = ['one', 'two', 'three'].map((holder) => createStore(fresh, holder))
      if (store === undefined) throw new Error('No store')
      const market = { chainId: 1, name: MARKETS.main.provider }
      for (const wallet of crowd) await store.follow(market, wallet, undefined)
      const day = 20_000
      const claim = async (max: number, by = store) => by.claim(market, { day, leaseSec: 60, max })
      await fresh.db.run("insert into feature_disabled (feature) values ('snapshots')", [])
      expect(await claim(10)).toEqual([])
      await fresh.db.run('delete from feature_disabled', [])
      // No more are leased than are given.
      expect(await claim(3, other)).toHaveLength(3)
      expect(await fresh.db.run('delete from lease returning 1 as n', [])).toHaveLength(3)
      const shares = await Promise.all([claim(10), claim(10, other), claim(10, third)])
      const claimed = shares.flat()
      expect(new Set(claimed).size).toBe(claimed.length)
      expect(claimed.length).toBe(crowd.length)
      expect(await fresh.db.run('select from lease', [])).toHaveLength(claimed.length)
      expect(await claim(10)).toEqual([])
      // A process that was too slow stores nothing; the process that took over the lease does.
      await fresh.db.run("update lease set until = now() - interval '1 second' where holder = 'two'", [])
      const late = shares[1] ?? []
      expect(await claim(10)).toEqual(late)
      await other?.markDone(market, day, late)
      await fresh.db.run("update lease set until = now() - interval '1 second' where holder = 'one'", [])
      expect((await claim(100, third)).toSorted()).toEqual([...(shares[0] ?? []), ...late].toSorted())
      await third?.markDone(market, day, claimed)
      expect(await fresh.db.run('select from lease', [])).toEqual([])
      expect(await claim(10)).toEqual([])
      expect((await store.claim(market, { day: day + 1, leaseSec: 60, max: 100 })).length).toBe(crowd.length)
    } finally {
      await fresh.close()
    }
  })

  test('belongs to the feature of the route, and does not start without it', () => {
    expect(route().feature).toBe('snapshots')
    const connect = () => {
      throw new Error('It started')
    }
    const setup = { chainIds: [1], servesSolana: false, connect }
    const configured = AAVE_V3.configure(new Map())
    expect(configured.work(setup, ['snapshots'])).toBeUndefined()
    expect(() => configured.work(setup, [])).toThrow('It started')
  })

  test('sends a chain no request while no wallet is followed', async () => {
    const fresh = await testDatabase()
    try {
      const counted = countedClient()
      expect(await takeDailySnapshots(createParts(counted.client, fresh), patient)).toBeGreaterThan(0)
      expect(counted.calls()).toBe(0)
    } finally {
      await fresh.close()
    }
  })

  test('a midnight whose block is replaced before it is final loses its snapshots, a final one never', async () => {
    const fresh = await testDatabase()
    try {
      const store = createStore(fresh)
      const market = { chainId: 1, name: MARKETS.main.provider }
      const midnight = (hash: string, isFinal: boolean) =>
        fresh.db.run<{ stored: boolean }>('select midnight_store($1, $2, $3, $4, $5, $6, $7, $8) as stored', [
          ...[1, 100, '5', hash.repeat(32), '00'.repeat(32), '1', isFinal, 1],
        ])
      const block = (hash: string): PinnedBlock => ({
        chainId: 1,
        number: 5n,
        timestampSec: 1n,
        hash: `0x${hash.repeat(32)}`,
        parentHash: pad('0x'),
      })
      const figures = { collateralUsd: '1.000000', debtUsd: '0.000000', netWorthUsd: '1.000000', healthFactor: 'MAX' }
      const keep = (hash: string) =>
        store.save(market, { day: 100, block: block(hash), witnesses: 1 }, [{ wallet: W.left, figures }])
      await midnight('aa', false)
      expect(await keep('aa')).toBe(true)
      expect(await keep('bb')).toBe(false)
      expect(await store.list(market, W.left, 9)).toEqual([{ day: 100, figures, witnesses: 1 }])
      expect((await midnight('bb', true))[0]?.stored).toBe(true)
      expect(await store.list(market, W.left, 9)).toEqual([])
      expect(await keep('bb')).toBe(true)
      expect((await midnight('aa', false))[0]?.stored).toBe(false)
      expect((await midnight('aa', true))[0]?.stored).toBe(false)
      expect(await store.list(market, W.left, 9)).toEqual([{ day: 100, figures, witnesses: 1 }])
    } finally {
      await fresh.close()
    }
  })
})

function formatDate(timeSec = 0): string {
  return new Date(timeSec * 1_000).toISOString().slice(0, 10)
}

/** A client that counts its requests. */
function countedClient() {
  const asked: string[] = []
  const fetchCounted = (url: string, init: RequestInit): Promise<Response> => {
    asked.push((JSON.parse(String(init.body)) as { readonly method: string }).method)
    return fetch(url, init)
  }
  const made = createChainClient({
    chain: createChain(devnet),
    clock: createHurriedClock(),
    log: silentLog,
    fetch: fetchCounted,
  })
  return { client: made, calls: (method?: string) => asked.filter((each) => (method ?? each) === each).length }
}

/** Snapshots of markets in a database. */
function createStore({ db }: Pick<TestDatabase, 'db'>, holder = 'test') {
  return createSnapshotStore(db, { holder, table: lendingSnapshots(db) })
}

/** What the daily job of one market works with. */
function createParts(over: EvmClient<FinanceChain>, { db }: TestDatabase): DailyParts<SnapshotFigures> {
  const clock = chainClock()
  const deployments = [{ market: 'main', poolAddressesProvider: MARKETS.main.provider, startBlock: 0 }]
  const reader = createLendingReader({ clients: new Map([[1, over]]), deployments: new Map([[1, deployments]]), clock })
  const midnights = createMidnights({ db, clock, serverTime: async () => clock.now() / 1_000 })
  const store = createStore({ db })
  const taker = createSnapshotTaker({ midnights, store, clock })
  const places = [...reader.targets.values()].map((place) => snapshotMarket(reader, place))
  return { targets: places, midnights, store, taker, clock, log: silentLog }
}
