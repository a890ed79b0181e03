import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, type Hex, isAddressEqual, parseAbi } from 'viem'
import { readBlock } from '../../../src/chain/evm/read_block.ts'
import type { HoldingsReader } from '../../../src/family/holding.ts'
import type { FinanceChain } from '../../../src/finance/chain.ts'
import { createMidnightRateReader } from '../../../src/finance/currency/rates_at_midnights.ts'
import { CURRENCY_FEED_ROWS } from '../../../src/finance/currency/table.ts'
import { createPriceReader } from '../../../src/finance/price/past/price_reader.ts'
import { createPortfolioSnapshots } from '../../../src/finance/series/portfolio.ts'
import { openapiDocument } from '../../../src/http/openapi/document.ts'
import { findCsvTable } from '../../../src/http/route/csv.ts'
import { createWork, noteUnwitnessed } from '../../../src/lib/async/work.ts'
import { type Clock, systemClock } from '../../../src/lib/clock.ts'
import { CodedError, PendingError, UnavailableError } from '../../../src/lib/error.ts'
import { formatExact } from '../../../src/lib/number/decimal.ts'
import { createBorrowedPriceReader } from '../../../src/portfolio/read/borrowed_price.ts'
import { type AssetReader, createAssetReader } from '../../../src/portfolio/read/read_chain.ts'
import { createSnapshotReader } from '../../../src/portfolio/snapshots.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { usdToRaw } from '../../devnet/scenario.ts'
import { IS_FULL } from '../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { createTestServices } from '../../support/family.ts'
import { findMismatches } from '../../support/json_schema.ts'
import { startFaultyRpc } from '../../support/rpc.ts'
import { slowClock } from '../../support/test_clock.ts'
import { createCode, deploy, mintCall, transferCall } from '../finance/token/balance/world.ts'
import { countedClient, createPortfolio, e6, listing } from './support.ts'

const DAY_SEC = 86_400
const DAYS = 64
/** The first day with assets in the wallet, and the day on which all of them are gone. */
const BEGINS = 3
const EMPTY = 30
/** Midnights on which it has a snapshot: none follows the last day. */
const TOLD = DAYS - 1 - BEGINS
const CHAIN_ID = 8453
/** The chain's own feed of euros, which stands from this day on and answers every fifth day. */
const EUR = CURRENCY_FEED_ROWS[CHAIN_ID]?.find(([currency]) => currency === 'EUR')?.[1] ?? BANK
const EUR_BEGINS = 10
const WALLET = toWalletAddress('snapshots')
const never = createWork(new AbortController().signal)

let devnet: Devnet
let database: TestDatabase
let unlisted: Address
let nowSec: number
/** The chain's clock: moved by the tests that let a day pass. */
const clock: Clock = { ...slowClock, now: () => nowSec * 1_000 }

beforeAll(async () => {
  database = await testDatabase()
  devnet = await startDevnet({ chainId: CHAIN_ID, ageSec: (DAYS + 12) * DAY_SEC })
  ;[unlisted = BANK] = await deploy(devnet, [createCode('Bytes32Token')])
  const { timestamp } = await devnet.client.getBlock()
  nowSec = (Math.floor(Number(timestamp) / DAY_SEC) + 1) * DAY_SEC + 7
  for (let day = 0; day < DAYS; day++) await pass(day)
}, 120_000)

afterAll(async () => {
  await devnet?.stop()
  await database?.close()
}, 60_000)

/** One day of the wallet: something comes or goes, prices move, and on some days nothing happens at all. */
async function pass(day: number): Promise<void> {
  nowSec += DAY_SEC
  await devnet.rpc.call('evm_setNextBlockTimestamp', nowSec)
  if (day === EUR_BEGINS) {
    await devnet.rpc.call('anvil_setCode', EUR, await devnet.client.getCode({ address: TOKENS.weth.feed }))
  }
  if (day >= EUR_BEGINS && day % 5 === 0)
    await devnet.setFeed(EUR, { answer: 100_000_000n + BigInt(day) * 345_678n, updatedAtSec: BigInt(nowSec) })
  const tokens = Object.values(TOKENS)
  const token = tokens[day % tokens.length] ?? TOKENS.usdc
  const value = usdToRaw(token, 100 + day)
  if (day === EMPTY) {
    const balances = await Promise.all(
      tokens.map(({ address }) =>
        devnet.client.readContract({ address, abi: ABI, functionName: 'balanceOf', args: [WALLET] }),
      ),
    )
    await devnet.send(
      tokens.map(({ address }, index) =>
        transferCall(address, { from: WALLET, to: BANK, value: balances[index] ?? 0n }),
      ),
    )
  } else if (day < BEGINS || (day > EMPTY && day < EMPTY + 3) || day % 7 === 6) await devnet.rpc.call('evm_mine')
  else if (day === 40) await devnet.mintMany(WALLET, 3)
  else {
    await devnet.setFeed(TOKENS.weth.feed, { answer: BigInt(3_000 + 10 * day) * 10n ** 8n })
    await devnet.send([transferCall(token.address, { from: BANK, to: WALLET, value })])
    if (day % 10 === 5) await devnet.send([mintCall(unlisted, WALLET, 10n ** 18n)])
  }
  nowSec = Number((await devnet.client.getBlock()).timestamp)
}

const ABI = [
  {
    type: 'function',
    name: 'balanceOf',
    stateMutability: 'view',
    inputs: [{ name: 'account', type: 'address' }],
    outputs: [{ name: '', type: 'uint256' }],
  },
] as const

function portfolioOver(
  overrides: Partial<FinanceChain> = {},
  options: { db?: TestDatabase; tokens?: readonly Address[]; deployments?: { uniswapV3: [] }; waiting?: Clock } = {},
) {
  const { db = database, tokens = [], deployments = {}, waiting = clock } = options
  const { client, requests } = countedClient(listing(createDevnetChain(devnet, overrides), tokens))
  return { portfolio: createPortfolio([client], { db: db.db, clock: waiting, deployments }), requests, client }
}

interface WireSnapshot {
  readonly timestamp: number
  readonly block_number: number
  readonly net_worth_usd: string
  readonly unpriced: number
}

interface WireBalance {
  readonly net_worth_usd: string
  readonly assets_usd: string
  readonly debt_usd: string
  readonly incomplete: readonly object[]
  readonly by_kind: Readonly<Record<string, string>>
  readonly rows: { readonly unpriced: number }
}

type Portfolio = ReturnType<typeof createPortfolio>

async function ask(portfolio: Portfolio, more = '&max_snapshots=366') {
  const { reply, credits } = await portfolio.snapshots(`wallet=${WALLET}&chain_id=${CHAIN_ID}${more}`)
  const { headers = {}, asOf, unwitnessed } = reply
  return { data: reply.data as readonly WireSnapshot[], headers, asOf, unwitnessed, credits }
}

/** The same once all days are read: how many one answer waits for is the machine's. */
async function askUntilRead(portfolio: Portfolio, more?: string): ReturnType<typeof ask> {
  return await ask(portfolio, more).catch((error: unknown) => {
    if (!(error instanceof PendingError)) throw error
    return askUntilRead(portfolio, more)
  })
}

/** Some of the midnights, the first and the last among them, and all with `SEEDS=full`. */
function takeSome<T>(all: readonly T[]): readonly T[] {
  return all.filter((_, index) => IS_FULL || index % 6 === 0 || index === all.length - 1)
}

/** The same from the balance of each midnight. */
async function truthAt(portfolio: Portfolio, timestamps: readonly number[], more = '') {
  return await Promise.all(
    timestamps.map(async (timestamp) => {
      const at = new Date(timestamp * 1_000).toISOString()
      const { reply } = await portfolio.balance(`wallet=${WALLET}&chain_id=${CHAIN_ID}&at_time=${at}${more}`)
      const { net_worth_usd, assets_usd, debt_usd, incomplete, by_kind, rows } = reply.data as WireBalance
      const block_number = Number(reply.asOf?.[0]?.blockNumber)
      const { unpriced } = rows
      return { timestamp, block_number, net_worth_usd, assets_usd, debt_usd, ...by_kind, unpriced, incomplete }
    }),
  )
}

test('each snapshot is the balance of its midnight, from the first day with anything on, and is read once', async () => {
  const { portfolio, requests } = portfolioOver()
  const { data, headers, asOf, unwitnessed, credits } = await askUntilRead(portfolio)
  const times = data.map(({ timestamp }) => timestamp)
  const last = Math.floor(nowSec / DAY_SEC) * DAY_SEC
  expect(times).toEqual(Array.from({ length: times.length }, (_, index) => last - (times.length - 1 - index) * DAY_SEC))
  expect(times.length).toBe(TOLD)
  expect(takeSome(data)).toEqual((await truthAt(portfolio, takeSome(times))) as never)
  expect(credits).toBe(5)
  expect(headers).toEqual({})
  // The chain has one endpoint.
  expect(unwitnessed).toEqual([CHAIN_ID])
  expect(asOf).toMatchObject([{ chainId: CHAIN_ID, blockNumber: BigInt(data.at(-1)?.block_number ?? 0) }])
  // Days of zeros after the first are listed, and every figure is nonzero on some day.
  expect(data.filter(({ net_worth_usd }) => net_worth_usd === '0.000000').length).toBe(3)
  expect(data.filter(({ net_worth_usd }) => Number(net_worth_usd) > 1_000).length).toBeGreaterThan(30)

  // A restart, and a shorter answer: nothing is read again but blocks that are not final.
  requests.length = 0
  const again = portfolioOver()
  expect((await ask(again.portfolio)).data).toEqual(data)
  expect((await ask(again.portfolio, '')).data).toEqual(data.slice(-30))
  expect((await ask(again.portfolio, '&max_snapshots=1')).data).toEqual(data.slice(-1))
  expect(again.requests.filter((method) => method === 'eth_call')).toEqual([])
}, 120_000)

test('in a currency each snapshot has the rate of its own block, stored for good, and none before there was one', async () => {
  const { portfolio, requests } = portfolioOver()
  const { data: dollars } = await askUntilRead(portfolio)
  requests.length = 0
  const { reply } = await portfolio.snapshots(`wallet=${WALLET}&chain_id=${CHAIN_ID}&max_snapshots=366&currency=EUR`)
  expect(reply.fx).toEqual({ currency: 'EUR', market: 'forex', chain_id: CHAIN_ID })
  const data = reply.data as readonly (WireSnapshot & Readonly<Record<string, string | null>>)[]
  expect(data.length).toBe(TOLD)
  const abi = parseAbi(['function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)'])
  const read = async (blockNumber: bigint) => {
    if ((await devnet.client.getCode({ address: EUR, blockNumber })) === undefined) return undefined
    const round = await devnet.client.readContract({ address: EUR, abi, functionName: 'latestRoundData', blockNumber })
    // It stands a while before its first answer.
    return round[1] === 0n ? undefined : round[1]
  }
  const rates = await Promise.all(data.map(({ block_number }) => read(BigInt(block_number))))
  expect(new Set(rates).size).toBeGreaterThan(10)
  expect(rates.filter((rate) => rate === undefined).length).toBeGreaterThan(5)
  for (const [index, { fx_rate, ...snapshot }] of data.entries()) {
    const rate = rates[index]
    expect(fx_rate).toBe(rate === undefined ? null : formatExact(rate, 8))
    expect(findWrongCurrency(snapshot, rate)).toEqual([])
  }
  const withoutEuros = data.map(({ fx_rate: _, ...snapshot }) =>
    Object.fromEntries(Object.entries(snapshot).filter(([name]) => !name.endsWith('_eur'))),
  )
  expect(withoutEuros).toEqual(dollars as never)

  const document = JSON.parse(openapiDocument({ routes: portfolio.routes }))
  const route = portfolio.routeAt('snapshots')
  const { schema } = document.paths[route.path].get.responses[200].content['application/json']
  const body = JSON.stringify({ data, fx: reply.fx, request_id: 'req_1' })
  expect(findMismatches(schema, JSON.parse(body), document)).toEqual([])
  const table = findCsvTable(route, { query: 'format=csv', accept: null })?.write(body)
  const [names = [], ...rows] = (table?.body ?? '').split('\r\n').map((line) => line.split(','))
  expect(names.slice(2, 4)).toEqual(['net_worth_usd', 'net_worth_eur'])
  expect(rows[20]?.[3]).toBe(data[20]?.['net_worth_eur'] ?? '')
  expect(table?.headers['x-fx']).toBe(`currency=EUR, market=forex, chain_id=${CHAIN_ID}`)

  // After a restart only what is not final is read again.
  const again = portfolioOver()
  await again.portfolio.snapshots(`wallet=${WALLET}&chain_id=${CHAIN_ID}&max_snapshots=366&currency=EUR`)
  const countCalls = (methods: readonly string[]) => methods.filter((method) => method === 'eth_call').length
  expect(countCalls(requests)).toBeGreaterThan(40)
  expect(countCalls(again.requests)).toBeLessThan(20)
}, 60_000)

/** Names of dollars without a sibling that is them ÷ the rate, to half a millionth; null without a rate. */
function findWrongCurrency(snapshot: object, rate: bigint | undefined): string[] {
  return Object.entries(snapshot).flatMap(([name, usd]) => {
    if (!name.endsWith('_usd')) return []
    const eur = Reflect.get(snapshot, name.replace(/usd$/, 'eur')) as string | null | undefined
    if (usd === null || rate === undefined) return eur === null ? [] : [name]
    if (typeof eur !== 'string') return [name]
    const twice = 2n * (e6(eur) * rate - e6(usd) * 10n ** 8n)
    return (twice < 0n ? -twice : twice) <= rate ? [] : [name]
  })
}

test('an overview tells what has changed since the midnights nearest to 1 and 30 days ago', async () => {
  const fresh = await testDatabase()
  try {
    const { portfolio } = portfolioOver({}, { db: fresh })
    const askUntilTold = async (): Promise<Readonly<Record<string, string | null>>> => {
      const { reply } = await portfolio.overview(`wallet=${WALLET}`)
      const { worth, unread } = reply.data as {
        readonly worth: Readonly<Record<string, string | null>>
        readonly unread: readonly { readonly what: string }[]
      }
      return unread.some(({ what }) => what.startsWith('change')) ? await askUntilTold() : worth
    }
    const askNet = async (more = '') =>
      Number(
        ((await portfolio.balance(`wallet=${WALLET}&chain_id=${CHAIN_ID}${more}`)).reply.data as WireBalance)
          .net_worth_usd,
      )
    const worth = await askUntilTold()
    const today = Math.round(nowSec / DAY_SEC)
    const [now, day, month] = await Promise.all([
      askNet(),
      ...[1, 30].map((ago) => askNet(`&at_time=${(today - ago) * DAY_SEC}`)),
    ])
    expect(worth['net_worth_usd']).toBe((now ?? 0).toFixed(6))
    expect(worth['change_24h_usd']).toBe(((now ?? 0) - (day ?? 0)).toFixed(6))
    expect(worth['change_30d_usd']).toBe(((now ?? 0) - (month ?? 0)).toFixed(6))
    expect(Number(worth['change_30d_usd'])).not.toBe(0)
    const [row] = await fresh.db.run<{ stored: number }>('select count(*)::int as stored from portfolio_snapshot', [])
    expect(row?.stored).toBe(2)
  } finally {
    await fresh.close()
  }
}, 60_000)

test('another token list and named tokens are read again; the old rows stay', async () => {
  const before = (await askUntilRead(portfolioOver().portfolio)).data
  const longer = portfolioOver({}, { tokens: [unlisted] })
  const { data } = await askUntilRead(longer.portfolio)
  expect(takeSome(data)).toEqual(
    (await truthAt(
      longer.portfolio,
      takeSome(data).map(({ timestamp }) => timestamp),
    )) as never,
  )
  expect(data.filter(({ unpriced }) => unpriced === 1).length).toBeGreaterThan(10)
  const plain = portfolioOver()
  const named = `&tokens=${unlisted}&include_unlisted=true`
  const asked = await askUntilRead(plain.portfolio, `&max_snapshots=366${named}`)
  expect(takeSome(asked.data)).toEqual(
    (await truthAt(
      plain.portfolio,
      takeSome(asked.data).map(({ timestamp }) => timestamp),
      named,
    )) as never,
  )
  expect(asked.data.map(({ unpriced }) => unpriced)).toEqual(data.map(({ unpriced }) => unpriced))
  plain.requests.length = 0
  expect((await askUntilRead(plain.portfolio)).data).toEqual(before)
  expect(plain.requests.filter((method) => method === 'eth_call')).toEqual([])
}, 120_000)

test('midnights that were stored before a deployment was configured are read again', async () => {
  const fresh = await testDatabase()
  try {
    const without = await askUntilRead(portfolioOver({}, { db: fresh, deployments: { uniswapV3: [] } }).portfolio)
    const { portfolio } = portfolioOver({}, { db: fresh })
    const { data } = await askUntilRead(portfolio)
    const [last] = await truthAt(portfolio, [data.at(-1)?.timestamp ?? 0])
    expect(data.at(-1)?.net_worth_usd).toBe(last?.net_worth_usd ?? '')
    expect(data.at(-1)?.net_worth_usd).not.toBe(without.data.at(-1)?.net_worth_usd)
  } finally {
    await fresh.close()
  }
}, 60_000)

test('the snapshots of a midnight whose block was replaced are read again', async () => {
  const fresh = await testDatabase()
  try {
    const { portfolio } = portfolioOver({}, { db: fresh })
    const { data } = await askUntilRead(portfolio, '&max_snapshots=5')
    const day = (data[2]?.timestamp ?? 0) / DAY_SEC
    const count = async () =>
      Number((await fresh.db.run<{ n: string }>('select count(*) as n from portfolio_snapshot', []))[0]?.n)
    expect(await count()).toBe(5)
    // Several endpoints give another block than the one that a single endpoint gave.
    const other = ['5', 'aa'.repeat(32), 'bb'.repeat(32), String(day * DAY_SEC - 1), true, 2]
    await fresh.db.run('select midnight_store($1, $2, $3, $4, $5, $6, $7, $8)', [CHAIN_ID, day, ...other])
    expect(await count()).toBe(4)
    await fresh.db.run('delete from midnight where day = $1', [day])
    expect((await ask(portfolioOver({}, { db: fresh }).portfolio, '&max_snapshots=5')).data).toEqual(data)
    expect(await count()).toBe(5)
  } finally {
    await fresh.close()
  }
}, 60_000)

test('figures on which endpoints disagree are not stored', async () => {
  const fresh = await testDatabase()
  const liar = await startFaultyRpc(devnet.rpcUrl)
  try {
    // What the wallet has for five days from its first ether on, wherever that stands in an answer.
    const balance = usdToRaw(TOKENS.weth, 105).toString(16).padStart(64, '0')
    const lie = (result: unknown) =>
      typeof result === 'string' ? result.replace(balance, '1'.padStart(64, '0')) : result
    liar.rule(({ method }) => (method === 'eth_call' ? { kind: 'change', change: lie } : undefined))
    const { portfolio } = portfolioOver({ rpcUrls: [devnet.rpcUrl, liar.url] }, { db: fresh })
    await expect(askUntilRead(portfolio)).rejects.toThrow('contradict each other')
    const sql = 'select day, witnesses from portfolio_snapshot where row_count > 0 order by day'
    const rows = await fresh.db.run<{ day: number; witnesses: number }>(sql, [])
    const first = Math.floor(nowSec / DAY_SEC) - TOLD + 1
    // Those days are not kept; on three others the wallet had nothing.
    const kept = Array.from({ length: TOLD }, (_, day) => day).filter(
      (day) => day < 2 || (day > 6 && (day < 27 || day > 29)),
    )
    expect(rows.map(({ day }) => day - first)).toEqual(kept)
    expect(rows.every(({ witnesses }) => witnesses === 2)).toBe(true)
    liar.rule(() => undefined)
    expect((await askUntilRead(portfolio)).unwitnessed).toBeUndefined()
  } finally {
    await liar.stop()
    await fresh.close()
  }
}, 60_000)

test('figures that lack what one endpoint alone says did not stand are stored as its word', async () => {
  const chain = createDevnetChain(devnet, { rpcUrls: [devnet.rpcUrl, devnet.rpcUrl] })
  const { client } = countedClient(chain)
  const { clients, db } = createTestServices({ clients: [client], db: database.db, clock })
  const borrowedPrices = createBorrowedPriceReader({ clients, prices: createPriceReader({ db, clock }), clock })
  const block = await client.read((endpoint) => readBlock(endpoint, { chainId: CHAIN_ID, number: 40n }, never), {
    work: never,
  })
  const readWitnesses = async (isAlone: boolean) => {
    const family: HoldingsReader = {
      chainIds: new Set([CHAIN_ID]),
      async open(_wallet, _target, work) {
        if (isAlone) noteUnwitnessed(work, [CHAIN_ID])
        return undefined
      },
    }
    const reader = createAssetReader({ families: [family], borrowedPrices, clock })
    const options = { toText: () => '', work: never }
    const { endpoints } = await reader.readAgreed({ client, wallet: WALLET, tokens: [], block }, options)
    return endpoints.length
  }
  expect([await readWitnesses(false), await readWitnesses(true)]).toEqual([2, 1])
})

test('with a slow endpoint the answer reports progress, and a retry is complete', async () => {
  const fresh = await testDatabase()
  const slow = await startFaultyRpc(devnet.rpcUrl)
  try {
    slow.rule(({ method }) => (method === 'eth_call' ? { kind: 'delay', ms: 900 } : undefined))
    const { portfolio } = portfolioOver(
      { rpcUrls: [slow.url] },
      { db: fresh, waiting: { ...systemClock, now: clock.now } },
    )
    const error = await ask(portfolio).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(UnavailableError)
    expect(String(error)).toMatch(/\d+ of \d+ days are read \(\d+ %\), ask again/)
    expect((error as UnavailableError).retryAfterSec).toBeGreaterThan(0)
    slow.rule(() => undefined)
    expect((await askUntilRead(portfolio)).data).toHaveLength(TOLD)
  } finally {
    await slow.stop()
    await fresh.close()
  }
}, 60_000)

describe('without an endpoint that keeps old state', () => {
  test('the series starts at the node’s oldest state, names that day, and grows by each midnight taken', async () => {
    const fresh = await testDatabase()
    const node = await startFaultyRpc(devnet.rpcUrl)
    try {
      const times = new Map<string, number>()
      const noteBlocks = async () => {
        const newest = await devnet.client.getBlockNumber({ cacheTime: 0 })
        for (let number = BigInt(times.size); number <= newest; number++) {
          const { hash, timestamp } = await devnet.client.getBlock({ blockNumber: number })
          times.set(hash as Hex, Number(timestamp))
        }
      }
      await noteBlocks()
      node.rule(({ method, params: [, at] }) => {
        if (method !== 'eth_call' || typeof at !== 'object' || at === null || !('blockHash' in at)) return undefined
        const isOld = (times.get(String(at.blockHash)) ?? nowSec) < nowSec - 1.5 * DAY_SEC
        return isOld ? { kind: 'error', error: { code: -32000, message: 'missing trie node 9f (path )' } } : undefined
      })
      const over = () => portfolioOver({ rpcUrls: [node.url] }, { db: fresh })
      const first = await ask(over().portfolio)
      expect(first.data).toHaveLength(1)
      expect(first.headers).toEqual({ 'x-snapshots-from': formatDay(first.data[0]?.timestamp) })
      for (let day = 1; day <= 3; day++) {
        await pass(50 + day)
        await noteBlocks()
        // Another process each time: who is followed stands in the database.
        await over().portfolio.work.round(never.signal)
      }
      const later = await ask(over().portfolio)
      expect(later.data).toHaveLength(4)
      expect(later.headers).toEqual(first.headers)
      const archive = portfolioOver({}, { db: fresh })
      expect(later.data).toEqual(
        (await truthAt(
          archive.portfolio,
          later.data.map(({ timestamp }) => timestamp),
        )) as never,
      )
      const completed = await askUntilRead(archive.portfolio)
      expect(completed.data).toHaveLength(TOLD + 3)
      expect(completed.headers).toEqual({})
    } finally {
      await node.stop()
      await fresh.close()
    }
  }, 60_000)
})

test('the route is the feature of snapshots, needs a chain, and takes 1 to 366 midnights', async () => {
  const { portfolio } = portfolioOver()
  expect(portfolio.routeAt('snapshots').feature).toBe('snapshots')
  for (const wrong of ['0', '367', '1.5', 'all'])
    await expect(ask(portfolio, `&max_snapshots=${wrong}`)).rejects.toThrow('max_snapshots')
  await expect(portfolio.snapshots(`wallet=${WALLET}`)).rejects.toThrow('chain_id')
})

test('a wallet that never had anything has an empty list', async () => {
  const { reply, credits } = await portfolioOver().portfolio.snapshots(
    `wallet=${toWalletAddress('nobody')}&chain_id=${CHAIN_ID}`,
  )
  expect(reply.data).toEqual([])
  expect(credits).toBe(5)
})

test('a wallet with too much to sum fails alone, and none of its midnights is read twice', async () => {
  const fresh = await testDatabase()
  try {
    const { client } = countedClient(createDevnetChain(devnet))
    const services = createTestServices({ clients: [client], db: fresh.db, clock })
    const prices = createPriceReader({ db: fresh.db, clock })
    const borrowedPrices = createBorrowedPriceReader({ clients: services.clients, prices, clock })
    const assets = createAssetReader({ families: [], borrowedPrices, clock })
    const huge = toWalletAddress('huge')
    let tries = 0
    const reader: AssetReader = {
      ...assets,
      async readAgreed(question, options) {
        if (!isAddressEqual(question.wallet, huge)) return await assets.readAgreed(question, options)
        tries++
        throw new CodedError('INVALID_PARAMETER', 'Cannot sum 2001 positions')
      },
    }
    const snapshots = createPortfolioSnapshots(services)
    const rates = createMidnightRateReader({ clients: services.clients, prices, clock })
    const listDeployments = () => []
    const { clients } = services
    const series = createSnapshotReader({ clients, reader, borrowedPrices, listDeployments, snapshots, rates })
    const askFor = (wallet: Address) =>
      series.readSnapshots({ wallet, chainId: CHAIN_ID, tokens: [], includeUnlisted: false, days: 3 }, never)
    const [refused, told] = await Promise.allSettled([askFor(huge), askFor(WALLET)])
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'INVALID_PARAMETER' } })
    expect(told).toMatchObject({ status: 'fulfilled', value: { snapshots: { length: 3 } } })

    await pass(54)
    tries = 0
    for (let round = 0; round < 2; round++) await series.takeDaily(never)
    expect(tries).toBe(1)
    const [row] = await fresh.db.run<{ newest: number }>('select max(day) as newest from portfolio_snapshot', [])
    expect(row?.newest).toBe(Math.floor(nowSec / DAY_SEC))
  } finally {
    await fresh.close()
  }
}, 60_000)

function formatDay(timeSec = 0): string {
  return new Date(timeSec * 1_000).toISOString().slice(0, 10)
}
