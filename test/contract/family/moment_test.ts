import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Address } from 'viem'
import { createChainClient, type EvmClient } from '../../../src/chain/evm/evm_client.ts'
import { AAVE_V3 } from '../../../src/family/aave_v3/mod.ts'
import { MORPHO_BLUE } from '../../../src/family/morpho_blue/mod.ts'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import { createHistory, type HistoryService } from '../../../src/history/mod.ts'
import type { Reply, Route } from '../../../src/http/route/route.ts'
import { CodedError, UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { SCENARIO_SEC } from '../../devnet/aave_v3/scenario.ts'
import { TOKENS, WALLETS } from '../../devnet/addresses.ts'
import { createDevnetChain, DEVNET_ROW } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import { callRoute } from '../../support/call_route.ts'
import { caseCount, IS_FULL } from '../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { createFamilyRoutes } from '../../support/family.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../support/test_clock.ts'
import { DEPLOYMENT as MORPHO_DEPLOYMENT } from './morpho_blue/support.ts'

const DAY_SEC = 86_400
/** Moments of the chain at which everything is asked live. */
const MOMENTS = caseCount(5, 3)
const CROWD = caseCount(30, 8)

let devnet: Devnet
let aave: AaveDevnet
let morpho: MorphoDevnet
let client: EvmClient<FinanceChain>
let crowd: readonly Address[]
let moments: readonly LiveMoment[]
let database: TestDatabase
const clients: EvmClient<FinanceChain>[] = []
const histories = new Map<EvmClient<FinanceChain>, HistoryService>()

/** A block and what every route said while it was the newest. */
interface LiveMoment {
  readonly number: number
  readonly timestampSec: number
  readonly answers: readonly Answered[]
}

interface Answered {
  readonly question: Question
  readonly reply: Reply
  readonly credits: number
}

interface Question {
  readonly path: string
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: object
}

beforeAll(async () => {
  database = await testDatabase()
  devnet = await startDevnet({ ageSec: SCENARIO_SEC + MOMENTS * 2 * DAY_SEC })
  morpho = await devnet.morpho()
  aave = await devnet.aave()
  crowd = (await aave.randomWallets(8, CROWD)).wallets
  client = clientOver([devnet.rpcUrl])
  const lived: LiveMoment[] = []
  for (let moment = 0; moment < MOMENTS; moment++) {
    await moveOn(moment)
    lived.push(await liveMoment())
  }
  await moveOn(MOMENTS)
  moments = lived
}, 180_000)

afterAll(async () => {
  for (const each of histories.values()) await each.close()
  for (const each of clients) each.close()
  await devnet?.stop()
  await database?.close()
}, 60_000)

/** Time passes, prices move, positions change. */
async function moveOn(step: number): Promise<void> {
  const change = BigInt(step + 1)
  // First, so that no later block shares the time of a moment.
  await aave.warp(DAY_SEC + step * 1_000)
  await devnet.setFeed(TOKENS.weth.feed, { answer: 300_000_000_000n + change * 7_777_777n })
  await devnet.setFeed(TOKENS.wbtc.feed, { answer: 9_000_000_000_000n - change * 123_456_789n })
  await devnet.mintMany(WALLETS.provider, 1)
  await morpho.supply({ market: morpho.markets.wethUsdc, wallet: morpho.wallets.supplier, assets: change * 1_000_000n })
}

function clientOver(rpcUrls: readonly string[]): EvmClient<FinanceChain> {
  const made = createChainClient({
    chain: createDevnetChain(devnet, { rpcUrls }),
    clock: createHurriedClock(),
    log: silentLog,
  })
  clients.push(made)
  return made
}

function routesOver(one: EvmClient<FinanceChain>): ReadonlyMap<string, Route> {
  const { uniswapV3, aaveV3 } = DEVNET_ROW
  const { db } = database
  const history = historyOver(one)
  const routes = [
    ...createFamilyRoutes(UNISWAP_V3, {
      clients: [one],
      db,
      history,
      rows: [[1, { uniswapV3: uniswapV3.map((each) => ({ ...each, startBlock: 0, code: 'uniswap_v3' })) }]],
    }),
    ...createFamilyRoutes(AAVE_V3, {
      clients: [one],
      rows: [[1, { aaveV3: aaveV3.map((each) => ({ ...each, startBlock: 0 })) }]],
    }),
    ...createFamilyRoutes(MORPHO_BLUE, { clients: [one], rows: [[1, { morphoBlue: MORPHO_DEPLOYMENT }]] }),
  ]
  return new Map(routes.map((route) => [route.path, route]))
}

const TRIES_MAX = 500

/** Every EVM route that reads state, over wallets of all kinds. */
function questions(): Question[] {
  const { supplier, borrower } = morpho.wallets
  const market_id = morpho.markets.wethUsdc.id
  const list = '/v1/positions/uniswap-v3'
  const lending = '/v1/lending/aave-v3'
  return [
    ...[WALLETS.provider, WALLETS.single, WALLETS.retired, WALLETS.spammed].flatMap((wallet) => [
      { path: list, query: `wallet=${wallet}&limit=25` },
      { path: list, query: `wallet=${wallet}&full=true` },
      { path: list, query: `wallet=${wallet}&status=inactive` },
    ]),
    { path: `${list}/:id`, params: { id: '1' } },
    { path: `${list}/:id`, params: { id: '2' }, query: 'full=true' },
    ...crowd.map((wallet) => ({ path: lending, query: `wallet=${wallet}` })),
    { path: `${lending}/batch`, query: 'limit=25', body: { wallets: crowd } },
    ...[supplier, borrower].map((wallet) => ({
      path: '/v1/lending/morpho-blue/position/:chain_id/yield',
      params: { chain_id: '1' },
      query: `wallet=${wallet}&market_id=${market_id}`,
    })),
  ]
}

function historyOver(one: EvmClient<FinanceChain>): HistoryService {
  const known = histories.get(one)
  if (known !== undefined) return known
  const made = createHistory({
    clients: new Map([[1, one]]),
    db: database.db,
    clock: slowClock,
    log: silentLog,
    holder: 'test',
  })
  histories.set(one, made)
  return made
}

/** Asks again for what needs history, profit in lists among it: that is read when it is first asked for. */
async function ask(routes: ReadonlyMap<string, Route>, { path, params, query, body }: Question) {
  const route = routes.get(path)
  if (route === undefined) throw new Error(`There is no route ${path}`)
  for (let tries = 0; ; tries++) {
    try {
      const answer = await callRoute(route, { ...(params && { params }), ...(query !== undefined && { query }), body })
      if (!isPending(answer.reply) || tries === TRIES_MAX) return answer
    } catch (error) {
      if (!(error instanceof UnavailableError) || params?.['id'] === undefined || tries === TRIES_MAX) throw error
    }
    await Bun.sleep(20)
  }
}

function isPending({ data }: Reply): boolean {
  return Array.isArray(data) && data.some((item: { pnl_status?: string }) => item.pnl_status === 'pending')
}

async function liveMoment(): Promise<LiveMoment> {
  const routes = routesOver(client)
  const { number, timestamp } = await devnet.client.getBlock()
  const answers: Answered[] = []
  for (const question of questions()) answers.push({ question, ...(await ask(routes, question)) })
  expect((await devnet.client.getBlock()).number).toBe(number)
  return { number: Number(number), timestampSec: Number(timestamp), answers }
}

/** The same question about the past. */
function about(question: Question, moment: Readonly<Record<string, number | string>>): Question {
  const at = {
    ...moment,
    ...('at_block' in moment && question.params?.['chain_id'] === undefined ? { chain_id: 1 } : {}),
  }
  if (question.body !== undefined) return { ...question, body: { ...question.body, ...at } }
  const query = new URLSearchParams(
    Object.entries(at).map(([name, value]): [string, string] => [name, String(value)]),
  ).toString()
  return { ...question, query: question.query === undefined ? query : `${question.query}&${query}` }
}

/**
 * Without the links, which repeat the caller's parameters, the profit in lists, which wait for no history, and whose
 * word the figures rest on.
 */
function toBody({ pagination, data, unwitnessed: _, ...reply }: Reply): object {
  const shown = Array.isArray(data) ? data.map((item: object) => ({ ...item, pnl: undefined })) : data
  return { ...reply, data: shown, total: pagination?.total }
}

/** Of how many questions one is asked again by time, and over several endpoints: by block, each is. */
const SHARE = IS_FULL ? 1 : 3

/** Counts the questions of all moments that are asked again so. */
const countShared = () => MOMENTS * Math.ceil(questions().length / SHARE)

/** How many answers about the past equal what the live route said then, of one in `share` questions. */
async function compare(
  momentOf: (live: LiveMoment) => Readonly<Record<string, number | string>>,
  { one = client, share = 1 } = {},
): Promise<number> {
  const routes = routesOver(one)
  let equal = 0
  for (const live of moments) {
    for (const { question, reply, credits } of live.answers.filter((_, no) => no % share === 0)) {
      const past = await ask(routes, about(question, momentOf(live)))
      expect(toBody(past.reply)).toEqual(toBody(reply))
      expect(past.credits).toBe(credits)
      equal++
    }
  }
  return equal
}

test('what changes between the moments shows in the answers', () => {
  const [first, second] = moments
  const differing = first?.answers.filter(({ reply }, index) => {
    const { asOf: _, ...now } = second?.answers[index]?.reply ?? { data: undefined }
    const { asOf: __, ...before } = reply
    return JSON.stringify(now.data) !== JSON.stringify(before.data)
  })
  expect(differing?.length).toBeGreaterThan(questions().length * 0.42)
})

test('at_block answers what the live route said at that block, on every route and to the last digit', async () => {
  expect(await compare(({ number }) => ({ at_block: number }))).toBe(MOMENTS * questions().length)
}, 120_000)

test('at_time answers as of the last block at or before that time, up to the second before the next one', async () => {
  expect(await compare(({ timestampSec }) => ({ at_time: timestampSec }), { share: SHARE })).toBe(countShared())
  const [, live] = moments
  const next = await devnet.client.getBlock({ blockNumber: BigInt((live?.number ?? 0) + 1) })
  const text = new Date((Number(next.timestamp) - 1) * 1_000).toISOString()
  const routes = routesOver(client)
  const [sample] = live?.answers ?? []
  if (sample === undefined) throw new Error('Nothing was asked')
  expect(toBody((await ask(routes, about(sample.question, { at_time: text }))).reply)).toEqual(toBody(sample.reply))
}, 120_000)

describe('endpoints of different depth', () => {
  const MIDDLE = (MOMENTS - 1) / 2
  let rpcs: FaultyRpc[] = []
  const heights = new Map<string, number>()
  const ERRORS = [
    { code: -32000, message: 'missing trie node 9f (path ) state 0x9f is not available' },
    { code: -32603, message: 'State at block #3 is pruned' },
    { code: -32000, message: 'World state unavailable' },
  ]

  beforeAll(async () => {
    for (const { number } of moments) {
      const { hash } = await devnet.client.getBlock({ blockNumber: BigInt(number) })
      heights.set(hash, number)
    }
  })
  afterAll(async () => {
    await Promise.all(rpcs.map((rpc) => rpc.stop()))
  })

  /** One endpoint for each entry, which keeps the state of the moments from that one on; all keep the newest. */
  async function endpoints(keepFrom: readonly number[]): Promise<EvmClient<FinanceChain>> {
    rpcs = await Promise.all(keepFrom.map(() => startFaultyRpc(devnet.rpcUrl)))
    for (const [index, from] of keepFrom.entries()) {
      const floor = moments[from]?.number ?? Number.POSITIVE_INFINITY
      rpcs[index]?.rule(({ method, params }) => {
        if (method !== 'eth_call') return undefined
        const at = params[1] as { readonly blockHash?: string } | string
        const height = typeof at === 'object' ? heights.get(at.blockHash ?? '') : undefined
        return height !== undefined && height < floor ? { kind: 'error', error: ERRORS[index] } : undefined
      })
    }
    return clientOver(rpcs.map(({ url }) => url))
  }

  test('three of them together answer all that any of them keeps, and the live route asks as before', async () => {
    const three = await endpoints([MOMENTS - 1, MIDDLE, 0])
    expect(await compare(({ number }) => ({ at_block: number }), { one: three, share: SHARE })).toBe(countShared())
    for (const rpc of rpcs) rpc.reset()
    const routes = routesOver(three)
    for (let time = 0; time < 5; time++) await ask(routes, { path: '/v1/lending/aave-v3', query: `wallet=${crowd[0]}` })
    const calls = rpcs.map(({ seen }) => seen.filter(({ method }) => method === 'eth_call').length)
    expect(calls).toEqual([5, 0, 0])
  }, 120_000)

  test('beyond what they keep it is 503 that says how far each one reached and what to set', async () => {
    const two = await endpoints([MOMENTS - 1, MIDDLE])
    const routes = routesOver(two)
    const [oldest, middle, newest] = [0, MIDDLE, MOMENTS - 1].map((at) => moments[at]?.number)
    const at = (at_block: number | undefined) =>
      ask(routes, { path: '/v1/lending/aave-v3', query: `wallet=${crowd[0]}&chain_id=1&at_block=${at_block}` })
    await at(newest)
    await at(middle)
    const error = await at(oldest).then(String, (reason: Error) => reason)
    expect(error).toBeInstanceOf(UnavailableError)
    expect((error as Error).message).toBe(
      `Cannot read chain 1 (Devnet) at block ${oldest}: endpoint 1 of chain 1 answered for blocks from ${newest} on, ` +
        `endpoint 2 of chain 1 answered for blocks from ${middle} on; set RPC_URL_1 to an archive endpoint to read older ` +
        'blocks',
    )
  })
})

test('a moment beyond the newest block or before the contracts is refused with what is expected', async () => {
  const routes = routesOver(client)
  const newest = Number(await devnet.client.getBlockNumber())
  const refusal = async (question: Question) => {
    const error = await ask(routes, question).then(String, (reason: Error) => reason)
    return error instanceof CodedError ? [error.code, error.message] : error
  }
  const wallet = crowd[0]
  const future = Math.floor(Date.now() / 1_000) + 100 * DAY_SEC
  const path = '/v1/lending/aave-v3'
  const head = 'Cannot read parameter'
  expect(await refusal({ path, query: `wallet=${wallet}&chain_id=1&at_block=${newest + 1}` })).toEqual([
    ...[
      'INVALID_PARAMETER',
      `${head} "at_block": expected at most ${newest}, the newest block of chain 1 (Devnet), got "${newest + 1}"`,
    ],
  ])
  expect(await refusal({ path, query: `wallet=${wallet}&chain_id=1&at_block=0` })).toEqual([
    ...['INVALID_PARAMETER', `${head} "at_block": Aave V3 was not deployed on chain 1 (Devnet) at block 0, got "0"`],
  ])
  expect(await refusal({ path, query: `wallet=${wallet}&at_time=${future}` })).toEqual([
    ...['INVALID_PARAMETER', `${head} "at_time": expected no time in the future, got "${future}"`],
  ])
  // What was sent, not the seconds that it means.
  for (const sent of ['2999-01-01', '2999-01-01T00:00:00Z']) {
    expect(await refusal({ path, query: `wallet=${wallet}&at_time=${sent}` })).toEqual([
      ...['INVALID_PARAMETER', `${head} "at_time": expected no time in the future, got "${sent}"`],
    ])
  }
  const { timestamp } = await devnet.client.getBlock({ blockNumber: 0n })
  expect(await refusal({ path, query: `wallet=${wallet}&at_time=86400` })).toEqual([
    ...[
      'INVALID_PARAMETER',
      `${head} "at_time": expected a time from ${timestamp} on, when chain 1 (Devnet) began, got "86400"`,
    ],
  ])
  expect(await refusal({ path, query: `wallet=${wallet}&at_block=5` })).toEqual([
    ...['MISSING_PARAMETER', 'Parameter "chain_id" is missing: it is required with "at_block"'],
  ])
  expect(await refusal({ path: `${path}/batch`, body: { wallets: [wallet], at_block: 5 } })).toEqual([
    ...['MISSING_PARAMETER', 'Parameter "chain_id" is missing: it is required with "at_block"'],
  ])
  expect(await refusal({ path, query: `wallet=${wallet}&chain_id=1&at_block=5&at_time=9` })).toEqual([
    ...['INVALID_PARAMETER', `${head} "at_time": expected it without "at_block"`],
  ])
  expect(await refusal({ path, query: `wallet=${wallet}&at_time=yesterday` })).toEqual([
    ...[
      'INVALID_PARAMETER',
      `${head} "at_time": expected Unix seconds, a date (YYYY-MM-DD) or an ISO 8601 timestamp, got "yesterday"`,
    ],
  ])
})

test('while the contracts are being set up a block is refused, and is no fault of the endpoint', async () => {
  const alone = clientOver([devnet.rpcUrl])
  const routes = routesOver(alone)
  const [first] = moments.map(({ number }) => number)
  const verdicts = new Map<string, number>()
  for (const path of ['/v1/lending/aave-v3', '/v1/positions/uniswap-v3']) {
    for (let at_block = 0; at_block < (first ?? 0); at_block += 7) {
      const query = `wallet=${crowd[0]}&chain_id=1&at_block=${at_block}`
      const verdict = await ask(routes, { path, query }).then(
        () => 'answered',
        (error: CodedError) => error.code,
      )
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1)
    }
  }
  expect([...verdicts.keys()].sort()).toEqual(['INVALID_PARAMETER', 'answered'])
  expect(verdicts.get('INVALID_PARAMETER')).toBeGreaterThan(2)
}, 60_000)
