import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { type Hex, padHex } from 'viem'
import type { Database } from '../../../../src/db/database.ts'
import type { WatchableFamily } from '../../../../src/family/contract.ts'
import { UNISWAP_V4 as FAMILY } from '../../../../src/family/uniswap_v4/mod.ts'
import type { ConfirmedFigures, Watcher, WatchSubject } from '../../../../src/family/watch.ts'
import { createHistory } from '../../../../src/history/mod.ts'
import type { Route } from '../../../../src/http/route/route.ts'
import { systemClock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { createMetrics } from '../../../../src/lib/metrics.ts'
import { startTriggers } from '../../../../src/trigger/mod.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import { burnCall, collectCall, decreaseCall, increaseCall, swapCall } from '../../../devnet/uniswap_v4/calls.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import { liquidityWorth, usdToRaw, type V4PoolName } from '../../../devnet/uniswap_v4/pools.ts'
import { createAccount } from '../../../support/account/scene.ts'
import { callRoute } from '../../../support/call_route.ts'
import { testDatabase } from '../../../support/database.ts'
import { countedClient, patient } from '../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes, createTestServices } from '../../../support/family.ts'
import { readBlockLogs, readNewestBlock } from '../../../support/forecast_watcher.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createTrigger } from '../../../support/trigger/scene.ts'
import { waitFor } from '../../../support/wait_for.ts'
import { DEPLOYMENT } from './support.ts'

const FIGURES = ['in_range', 'is_active', 'fees_usd', 'value_usd'] as const
const NAMES = ['plain', 'native', 'dynamicFee', 'feeTaking', 'forbidding', 'protocolFee'] as const
const MANAGER = UNISWAP_V4.positionManager
const OWNER = toWalletAddress('v4 watched owner')
const ROWS = [[1, { uniswapV4: DEPLOYMENT }]] as const

let devnet: Devnet
let v4: UniswapV4
let db: Database
let watched: WatchableFamily
let watcher: Watcher
let one: Route
let requests: ReturnType<typeof countedClient>['requests']
let client: ReturnType<typeof countedClient>['client']
const ids = new Map<V4PoolName, bigint>()
/** Positions in the plain pool, without liquidity and burned. */
let closed: bigint
let burned: bigint
const closers: (() => unknown)[] = []

const toSubject = (tokenId: bigint): WatchSubject => ({ token_id: String(tokenId), manager_address: MANAGER })

beforeAll(async () => {
  devnet = await startDevnet()
  closers.push(() => devnet.stop())
  const database = await testDatabase()
  db = database.db
  ;({ client, requests } = countedClient(createDevnetChain(devnet)))
  const clients = [client]
  const history = createHistory({
    clients: new Map([[1, client]]),
    db,
    clock: slowClock,
    log: silentLog,
    holder: 'v4',
  })
  closers.push(history.close)
  const connect = () => createTestServices({ clients, db, history })
  const found = FAMILY.configure(new Map(ROWS)).watch({ chainIds: [1], servesSolana: false, connect })
  const routes = createFamilyRoutes(FAMILY, { rows: ROWS, clients, db, history })
  const route = routes.find(({ path }) => path === '/v1/positions/uniswap-v4/:id')
  if (found?.watcher === undefined || route === undefined) throw new Error('Cannot watch Uniswap V4')
  watched = found
  watcher = found.watcher()
  one = route
  v4 = await devnet.uniswapV4()
  await v4.fund([OWNER])
  const minted = await v4.mintMany(
    [...NAMES, 'plain' as const, 'plain' as const].map((name) => {
      const pool = v4.pools[name]
      const range = rangeAround(pool, -900, 900)
      return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 1_000 }), recipient: OWNER }
    }),
  )
  for (const [index, name] of NAMES.entries()) ids.set(name, minted[index] ?? 0n)
  ;[closed = 0n, burned = 0n] = minted.slice(NAMES.length)
  const [liquidity = 0n] = await v4.readLiquidity([closed])
  await devnet.send([
    ...NAMES.map((name) => swap(name, true, 400)),
    ...NAMES.map((name) => swap(name, false, 300)),
    decreaseCall({ pool: v4.pools.plain, tokenId: closed, owner: OWNER, liquidity }),
    burnCall({ pool: v4.pools.plain, tokenId: burned, owner: OWNER }),
  ])
}, 180_000)

afterAll(async () => {
  for (const close of closers.toReversed()) await close()
}, 60_000)

function swap(name: V4PoolName, zeroForOne: boolean, usd: number) {
  const pool = v4.pools[name]
  return swapCall({ pool, zeroForOne, amountIn: usdToRaw(pool.currencies[zeroForOne ? 0 : 1], usd) })
}

interface Shown {
  readonly is_active: boolean
  readonly in_range: boolean
  readonly usd: { readonly uncollected_fees: string | null; readonly total: string | null }
  readonly prices: { readonly current: string; readonly lower: string; readonly upper: string }
}

/** What the route shows at the path of a message. */
async function readShown(tokenId: bigint, block: bigint): Promise<Shown> {
  const [, query = ''] = watched.answerPath(toSubject(tokenId), 1, block).split('?')
  const { reply } = await callRoute(one, { params: { id: String(tokenId) }, query })
  return reply.data as unknown as Shown
}

function toTexts(found: ConfirmedFigures | 'gone' | undefined) {
  if (found === undefined || found === 'gone') throw new Error('Expected figures')
  return Object.fromEntries(FIGURES.map((figure) => [figure, found.text(figure)]))
}

describe('confirm()', () => {
  test('returns the figures of the route at the same block, digit by digit, behind hooks too', async () => {
    const block = await readNewestBlock(devnet.rpc, 1)
    const asked = [...ids.values(), closed]
    const confirmed = await watcher.confirm(asked.map(toSubject), { client, block }, patient)
    let unvalued = 0
    for (const [index, tokenId] of asked.entries()) {
      const { in_range, is_active, usd, prices } = await readShown(tokenId, block.number)
      const found = confirmed[index]
      const fees_usd = usd.uncollected_fees
      expect(toTexts(found)).toEqual({ in_range, is_active, fees_usd, value_usd: usd.total })
      if (usd.total === null) unvalued++
      const [current = 0, lower = 0, upper = 0] = [prices.current, prices.lower, prices.upper].map(Number)
      const distance = (Math.min(current - lower, upper - current) / current) * 100
      const text = found === undefined || found === 'gone' ? null : found.text('distance_to_edge_percentage')
      // The route rounds its prices, and the figure is rounded to four digits.
      expect(Number(text) / distance).toBeCloseTo(1, 3)
    }
    const fees = asked.map((_, index) => Number(toTexts(confirmed[index])['fees_usd']))
    expect(fees.filter((each) => each > 0).length).toBeGreaterThan(3)
    expect(toTexts(confirmed.at(-1))).toMatchObject({ is_active: false, fees_usd: '0.000000', value_usd: '0.000000' })
    // A hook forbids one withdrawal.
    expect(unvalued).toBe(1)
  }, 60_000)

  test('returns gone for a burned token, one that never existed, and one of another manager', async () => {
    const place = { client, block: await readNewestBlock(devnet.rpc, 1) }
    const plain = ids.get('plain') ?? 0n
    const other = { ...toSubject(plain), manager_address: toWalletAddress('no manager') }
    const asked = [toSubject(burned), toSubject(10n ** 20n), other, toSubject(plain)]
    const confirmed = await watcher.confirm(asked, place, patient)
    expect(confirmed.slice(0, 3)).toEqual(['gone', 'gone', 'gone'])
    expect(confirmed[3]).not.toBe('gone')
    expect(await watcher.confirm([], place, patient)).toEqual([])
  }, 30_000)

  test('takes a manager without code for a failure, since no position was seen to be gone', async () => {
    const block = await readNewestBlock(devnet.rpc, 1)
    const first = await devnet.rpc.call<{ readonly hash: Hex; readonly parentHash: Hex; readonly timestamp: Hex }>(
      'eth_getBlockByNumber',
      '0x1',
      false,
    )
    const { hash, parentHash, timestamp } = first
    const before = { ...block, number: 1n, hash, parentHash, timestampSec: BigInt(timestamp) }
    const asked = watcher.confirm([toSubject(ids.get('plain') ?? 0n)], { client, block: before }, patient)
    await expect(asked).rejects.toThrow('does not answer')
  }, 30_000)

  test('reads a hundred positions, and what the last one is worth, with four requests', async () => {
    const place = { client, block: await readNewestBlock(devnet.rpc, 1) }
    const plain = [ids.get('plain'), ids.get('native'), ids.get('protocolFee'), closed, burned]
    const many = [
      ...plain.map((id) => id ?? 0n),
      ...Array.from({ length: 95 }, (_, index) => 10n ** 20n + BigInt(index)),
    ]
    requests.length = 0
    const confirmed = await watcher.confirm(many.map(toSubject), place, patient)
    expect(requests.length).toBeLessThan(5)
    expect(confirmed.map((each) => each === 'gone')).toEqual(many.map((_, index) => index > 3))
  }, 30_000)
})

describe('events', () => {
  test('are the changes of the position, from the real managers alone', async () => {
    const [pool, tokenId, other] = [v4.pools.plain, ids.get('plain') ?? 0n, ids.get('native') ?? 0n]
    await devnet.send([
      increaseCall({ pool, tokenId, owner: OWNER, liquidity: 1_000n }),
      collectCall({ pool, tokenId, owner: OWNER }),
      decreaseCall({ pool, tokenId, owner: OWNER, liquidity: 500n }),
      collectCall({ pool: v4.pools.native, tokenId: other, owner: OWNER }),
    ])
    const block = await readNewestBlock(devnet.rpc, 1)
    const logs = await readBlockLogs(devnet.rpc, { filters: watcher.events?.filters(1) ?? [], block })
    const forger = toWalletAddress('forger').toLowerCase() as Hex
    const forged = [
      ...logs.map((log): typeof log => ({ ...log, address: forger })),
      // Another contract can add liquidity with any salt.
      ...logs.map((log): typeof log => {
        const [event = '0x', pool = '0x'] = log.topics
        return { ...log, topics: [event, pool, padHex(forger, { size: 32 })] }
      }),
    ]
    const subject = toSubject(tokenId)
    const foreign = { ...subject, manager_address: toWalletAddress('no manager') }
    const found = await watcher.events?.read([...logs, ...forged], [subject, foreign], { client, block }, patient)
    expect(found?.map(({ type }) => type)).toEqual(['increase', 'collect', 'decrease', 'collect'])
    expect(found?.every((each) => each.subject === subject && each.blockHash === block.hash)).toBe(true)
  }, 30_000)
})

test('a trigger fires at the block where the price leaves the range, and clears where it comes back', async () => {
  const { organizationId, apiKeyId } = await createAccount(db, { credits: 10_000 })
  const tokenId = ids.get('plain') ?? 0n
  const subject = toSubject(tokenId)
  const shared = { organizationId, apiKeyId, chainId: 1, family: 'uniswap-v4', subject }
  await createTrigger(db, { ...shared, clause: { figure: 'in_range', is: false }, clear: null })
  const { stop } = startTriggers({
    db,
    holder: 'v4',
    clients: new Map([[1, client]]),
    solanaChainId: undefined,
    families: [watched],
    publicUrl: undefined,
    clock: slowClock,
    log: silentLog,
    metrics: createMetrics(),
    jobs: { clock: systemClock },
  })
  closers.push(stop)
  const evaluated = async () => {
    const newest = await devnet.client.getBlockNumber()
    const isDone = async () => {
      const [row] = await db.run<{ block: string | null }>('select block from watch_cursor', [])
      return BigInt(row?.block ?? -1) >= newest
    }
    await waitFor(`block ${newest} evaluated`, isDone, 60_000)
    return newest
  }
  await evaluated()
  /** Swaps in one direction, one in a block, until the price crosses an edge of the range; returns that block. */
  async function cross(zeroForOne: boolean): Promise<bigint> {
    for (let swaps = 0; swaps < 40; swaps++) {
      await devnet.send([swap('plain', zeroForOne, 200_000)])
      const block = await evaluated()
      if ((await readShown(tokenId, block)).in_range !== zeroForOne) return block
    }
    throw new Error('Expected that the price crosses an edge')
  }
  const blocks = [await cross(true), await cross(false)]
  const messages = await db.run<{ type: string; body: string }>('select type, body from message order by no', [])
  expect(messages.map(({ type }) => type)).toEqual(['trigger.fired', 'trigger.cleared'])
  const bodies = messages.map(({ body }) => JSON.parse(body).data)
  expect(bodies.map(({ block }) => BigInt(block.number))).toEqual(blocks)
  const query = `chain_id=1&manager_address=${MANAGER}&full=true&at_block=${blocks[0]}`
  expect(bodies[0].answer_url).toBe(`/v1/positions/uniswap-v4/${tokenId}?${query}`)
}, 120_000)

test('a subject is what the route takes: the only manager of the chain need not be named', () => {
  const parse = (value: unknown) => {
    const result = v.safeParse(watched.subject(1), value)
    return result.success ? result.output : undefined
  }
  expect(parse({ token_id: '7' })).toEqual(toSubject(7n))
  expect(parse({ token_id: '7', manager_address: MANAGER.toLowerCase() })).toEqual(toSubject(7n))
  expect(parse({ token_id: '7', manager_address: toWalletAddress('other') })).toBeUndefined()
  expect([Object.keys(watched.figures), watched.events]).toEqual([
    ['in_range', 'is_active', 'fees_usd', 'value_usd', 'distance_to_edge_percentage'],
    ['increase', 'decrease', 'collect'],
  ])
})
