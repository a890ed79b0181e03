import { afterAll, beforeAll, expect, test } from 'bun:test'
import { toFunctionSelector } from 'viem'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import { UNISWAP_V3 } from '../../../../../src/family/uniswap_v3/mod.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import { createDeadlines } from '../../../../../src/http/exchange/deadline.ts'
import { readParameters } from '../../../../../src/http/request/parameters.ts'
import type { Route } from '../../../../../src/http/route/route.ts'
import { systemClock } from '../../../../../src/lib/clock.ts'
import { PendingError } from '../../../../../src/lib/error.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { createDevnetChain } from '../../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { increaseLiquidityCall } from '../../../../devnet/uniswap_v3_calls.ts'
import { callRoute, type RouteTestAnswer } from '../../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { DEPLOYMENT } from '../../../../support/family/uniswap_v3/support.ts'
import { createFamilyRoutes } from '../../../../support/family.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../../support/rpc.ts'
import { settle } from '../../../../support/test_clock.ts'

const BUILD_LIMIT_MS = 120_000
/** Blocks in which the position has a flow, its mint among them: more than a page. */
const BLOCKS = 28
const FINALITY_DEPTH = 12
/** Time limit of a request. */
const BUDGET_MS = 5_000
const TRIES_MAX = 6
const PATH = '/v1/positions/uniswap-v3/:id/events'

let devnet: Devnet
let slow: FaultyRpc
let head: number
let tokenId: bigint
const closers: (() => unknown)[] = []

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 86_400 })
  closers.push(devnet.stop)
  ;[tokenId] = (await devnet.mintMany(devnet.wallets.receiver, 1)) as [bigint]
  for (let block = 1; block < BLOCKS; block++) {
    // Ranges without a flow, over which the manager's state must not change.
    await devnet.rpc.call('anvil_mine', '0x1')
    await devnet.send([increaseLiquidityCall({ tokenId, amount0: 10n ** 9n, amount1: 10n ** 15n })])
  }
  await devnet.rpc.call('anvil_mine', `0x${(FINALITY_DEPTH + 8).toString(16)}`)
  head = Number(await devnet.rpc.call<string>('eth_blockNumber'))
  slow = await startFaultyRpc(devnet.rpcUrl)
  closers.push(slow.stop)
}, BUILD_LIMIT_MS)
afterAll(async () => {
  for (const close of closers.reverse()) await close()
}, BUILD_LIMIT_MS)

/** True for a request for a round of a feed other than its newest, as if the feed kept none. */
function isOfRounds({ params: [call] }: SeenRequest): boolean {
  return JSON.stringify(call ?? null).includes(toFunctionSelector('getRoundData(uint80)').slice(2))
}

/** True for data of a read of positions' states. */
function isOfState(data: string | undefined): boolean {
  return data?.includes(toFunctionSelector('positions(uint256)').slice(2)) === true
}

/** The past block whose prices a request is about. */
function findPricedBlock({ method, params: [call, at] }: SeenRequest): string | undefined {
  const { data } = (call ?? {}) as { readonly data?: string }
  const isPast = method === 'eth_call' && typeof at === 'string' && Number(at) < head - FINALITY_DEPTH
  return isPast && !isOfState(data) ? at : undefined
}

async function freshDatabase(): Promise<TestDatabase> {
  const fresh = await testDatabase()
  closers.push(fresh.close)
  return fresh
}

/** Reads the events by a new process over a database: without a deadline, or under that of a request. */
function start({ db }: TestDatabase) {
  const chain = createDevnetChain(devnet, { rpcUrls: [slow.url], finality: { depth: FINALITY_DEPTH } })
  const client: EvmClient<FinanceChain> = createChainClient({ chain, clock: systemClock, log: silentLog })
  closers.push(client.close)
  const clients = new Map([[1, client]])
  const made = { clients, db, clock: systemClock, log: silentLog, holder: crypto.randomUUID() }
  const history: HistoryService = createHistory(made)
  closers.push(history.close)
  const rows = [[1, { uniswapV3: [DEPLOYMENT] }]] as const
  const routes = createFamilyRoutes(UNISWAP_V3, { rows, clients: [client], db, history })
  const route = routes.find(({ path }) => path === PATH) as Route
  const input = { params: { id: String(tokenId) }, query: 'chain_id=1&limit=25' }
  return {
    ask: (): Promise<RouteTestAnswer> => callRoute(route, input),
    async budgeted(budgetMs = BUDGET_MS): Promise<unknown> {
      const parameters = () => readParameters(route.input, input)
      const accepted = await route.accept({ parameters, body: () => Promise.reject(new Error('It has no body')) })
      const reader = {
        callerSignal: new AbortController().signal,
        organizationId: 'organization',
        apiKeyId: '',
        requestedAtMs: 0,
      }
      return await createDeadlines({ budgetMs, clock: systemClock }).read(accepted.call(), reader)
    },
  }
}

function checkAll({ reply }: RouteTestAnswer): void {
  expect(reply.pagination?.total).toBe(BLOCKS)
  const events = reply.data as readonly { readonly prices: unknown }[]
  expect(events.map(({ prices }) => prices)).not.toContain(null)
}

test('a node that fails under too many concurrent requests gets fewer, until everything is priced', async () => {
  let running = 0
  let refused = 0
  slow.rule((request) => {
    if (isOfRounds(request)) return { kind: 'error', error: { code: -32_000, message: 'failed' } }
    if (findPricedBlock(request) === undefined) return undefined
    // Its gateway says that the node took too long.
    if (running === 6) {
      refused++
      return { kind: 'http', status: 504, body: '' }
    }
    running++
    const done = () => settle(20).finally(() => running--)
    return { kind: 'meanwhile', done }
  })
  const process = start(await freshDatabase())
  const said: unknown[] = []
  for (let tries = 1; ; tries++) {
    // A request may end before its concurrency is low enough.
    const error = await process.budgeted(tries * BUDGET_MS).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    if (error === undefined) break
    said.push(error)
    expect(tries).toBeLessThan(TRIES_MAX)
  }
  slow.rule(() => undefined)
  expect(refused).toBeGreaterThan(0)
  for (const error of said) {
    expect(error).toBeInstanceOf(PendingError)
    expect(error).toHaveProperty('message', expect.stringMatching(/^The history of .* \d+ % done/))
  }
  checkAll(await process.ask())
}, 120_000)

test('prices that were read before a timeout are not read again, even by another process', async () => {
  const database = await freshDatabase()
  const answered = new Set<string>()
  slow.rule((request) => {
    const block = findPricedBlock(request)
    if (block === undefined || answered.has(block)) return undefined
    if (answered.size === 10) return { kind: 'hang' }
    answered.add(block)
    return undefined
  })
  const error = await start(database)
    .budgeted()
    .catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(PendingError)
  expect(error).toHaveProperty('message', expect.stringMatching(/prices of its flows are being read: \d+ % done/))
  expect(answered.size).toBe(10)
  slow.rule(() => undefined)
  slow.reset()
  checkAll(await start(database).ask())
  const again = new Set(slow.seen.flatMap((request) => findPricedBlock(request) ?? []))
  expect(again.size).toBeGreaterThan(0)
  expect([...again].filter((block) => answered.has(block))).toEqual([])
}, 60_000)

test('the manager’s state is read for a few blocks at a time', async () => {
  let running = 0
  let most = 0
  let asked = 0
  slow.rule(({ method, params: [call, at] }) => {
    const { data } = (call ?? {}) as { readonly data?: string }
    if (method !== 'eth_call' || !isOfState(data) || typeof at !== 'string' || Number(at) > head - FINALITY_DEPTH)
      return undefined
    const done = async () => {
      asked++
      most = Math.max(most, ++running)
      await settle(20)
      running--
    }
    return { kind: 'meanwhile', done }
  })
  checkAll(await start(await freshDatabase()).ask())
  slow.rule(() => undefined)
  expect(asked).toBeGreaterThan(40)
  expect(most).toBeLessThanOrEqual(24)
}, 60_000)
