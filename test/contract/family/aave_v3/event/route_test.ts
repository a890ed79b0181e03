import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, getAddress, type Hex, parseAbi, toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import { AAVE_V3 } from '../../../../../src/family/aave_v3/mod.ts'
import { LENDING_EVENT_TYPES } from '../../../../../src/family/lending/lending_event.ts'
import type { FinanceChain } from '../../../../../src/finance/chain.ts'
import { createPriceReader } from '../../../../../src/finance/price/past/price_reader.ts'
import { readPricesAt } from '../../../../../src/finance/price/past/prices_at.ts'
import { createHistory, type HistoryService } from '../../../../../src/history/mod.ts'
import type { Route } from '../../../../../src/http/route/route.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { UnavailableError } from '../../../../../src/lib/error.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { ASSETS, MARKETS } from '../../../../devnet/aave_v3/addresses.ts'
import { deployAll, withAddresses } from '../../../../devnet/aave_v3/deploy.ts'
import type { AaveHistory } from '../../../../devnet/aave_v3/history.ts'
import type { AaveDevnet } from '../../../../devnet/aave_v3/mod.ts'
import { rawUsd, SCENARIO_SEC } from '../../../../devnet/aave_v3/scenario.ts'
import { BANK } from '../../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../../devnet/artifacts.ts'
import { createDevnetChain, DEVNET_ROW } from '../../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { callRoute, type RouteTestRequest } from '../../../../support/call_route.ts'
import { caseCount, IS_FULL } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { readTruth } from '../../../../support/family/aave_v3/event/support.ts'
import { createFamilyRoutes } from '../../../../support/family.ts'
import { capped } from '../../../../support/history/simulation/capped.ts'
import { CAP_DIALECTS } from '../../../../support/history/simulation/endpoint.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../../support/test_clock.ts'
import { waitFor } from '../../../../support/wait_for.ts'

const BUILD_LIMIT_MS = 120_000
const PATH = '/v1/lending/aave-v3/position/:chain_id/events'
/** Blocks that are not final, so that every list ends in rows that are read live. */
const DEPTH = 12
/** Events of the first wallet in them. */
const YOUNG = 4
const ABI = parseAbi([
  'function getAssetPrice(address asset) view returns (uint256)',
  'function setAssetSources(address[] assets, address[] sources)',
  'function transmit(int256 answer)',
])
const DAI = ASSETS.dai.address

const [dialect] = CAP_DIALECTS as [(typeof CAP_DIALECTS)[number]]

interface WireEvent {
  readonly type: string
  readonly blockNumber: number
  readonly logIndex: number
  readonly timestamp: number
  readonly transactionHash: Hex
  readonly asset: {
    readonly address: Address
    readonly symbol: string
    readonly name: string
    readonly decimals: number
  }
  readonly amount: string
  readonly amountUSD: string
  readonly priceUSD: string
  readonly counterparty: Address
}

let devnet: Devnet
let aave: AaveDevnet
let past: AaveHistory
let truth: string[]
let faulty: FaultyRpc
let database: TestDatabase
let client: EvmClient<FinanceChain>
let history: HistoryService
let route: Route

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 10 * SCENARIO_SEC })
  aave = await devnet.aave()
  await transmitDai(100_020_000n)
  past = await aave.history(21, caseCount(160, 110))
  await transmitDai(99_870_000n)
  const [wallet] = past.wallets as [Address]
  for (let young = 1; young <= YOUNG; young++) {
    await aave.supply({ market: 'main', wallet, asset: 'usdc', amount: rawUsd('usdc', young) })
  }
  truth = await readTruth(devnet, MARKETS.main.pool, past)
  faulty = await startFaultyRpc(devnet.rpcUrl)
  database = await testDatabase()
  client = createClient()
  history = createHistory({
    clients: new Map([[1, client]]),
    db: database.db,
    clock: slowClock,
    log: silentLog,
    holder: 'test',
  })
  const routes = createFamilyRoutes(AAVE_V3, { rows: [[1, DEVNET_ROW]], clients: [client], db: database.db, history })
  route = routes.find(({ path }) => path === PATH) as Route
}, BUILD_LIMIT_MS)
beforeEach(() => {
  faulty.rule(() => undefined)
  faulty.reset()
})
afterAll(async () => {
  await history?.close()
  client?.close()
  await faulty?.stop()
  await database?.close()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

function createClient(): EvmClient<FinanceChain> {
  const chain = createDevnetChain(devnet, { rpcUrls: [faulty.url], finality: { depth: DEPTH } })
  return createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
}

let aggregator: Address | undefined

/** A round of dai's price, from a feed with rounds that the market's oracle asks from the first time on. */
async function transmitDai(answer: bigint): Promise<void> {
  if (aggregator === undefined) {
    const digits = toHex(8, { size: 32 }).slice(2)
    const [made] = (await deployAll(devnet.send, [`${ownCreationCode('Aggregator')}${digits}`])) as [Address]
    aggregator = made
    const [feed] = (await deployAll(devnet.send, [withAddresses(ownCreationCode('PhasedFeed'), made)])) as [Address]
    await devnet.send([
      { from: BANK, to: made, data: encodeFunctionData({ abi: ABI, functionName: 'transmit', args: [answer] }) },
      {
        from: BANK,
        to: MARKETS.main.oracle,
        data: encodeFunctionData({ abi: ABI, functionName: 'setAssetSources', args: [[DAI], [feed]] }),
      },
    ])
  } else {
    await aave.warp(60)
    const data = encodeFunctionData({ abi: ABI, functionName: 'transmit', args: [answer] })
    await devnet.send([{ from: BANK, to: aggregator, data }])
  }
  await aave.warp(60)
}

/** One page; while the history is read in the background, asks again as `Retry-After` says. */
async function ask(
  wallet: string,
  query = '',
  reads?: RouteTestRequest['reads'],
): Promise<Awaited<ReturnType<typeof callRoute>>> {
  for (;;) {
    try {
      return await callRoute(route, { params: { chain_id: '1' }, query: `wallet=${wallet}${query}`, reads })
    } catch (error) {
      if (!(error instanceof UnavailableError) || !error.message.includes('is being read')) throw error
      await Bun.sleep(error.retryAfterSec * 1_000)
    }
  }
}

/** All pages of a wallet's events, and the total that every page told. */
async function allEvents(
  wallet: string,
  query = '',
  limit = 25,
): Promise<{ events: WireEvent[]; totals: Set<number> }> {
  const events: WireEvent[] = []
  const totals = new Set<number>()
  for (let page = 1; ; page++) {
    const { reply } = await ask(wallet, `${query}&limit=${limit}&page=${page}`)
    const data = reply.data as WireEvent[]
    totals.add(reply.pagination?.total ?? -1)
    events.push(...data)
    if (data.length < limit) return { events, totals }
  }
}

/** An event in the form of `readTruth`. */
function formatEvents(wallet: string, events: readonly WireEvent[]): string[] {
  return events.map(({ type, blockNumber, logIndex, asset, amount, counterparty }, index) => {
    const before = events[index - 1]
    const leg = before?.blockNumber === blockNumber && before.logIndex === logIndex ? 1 : 0
    const [whole = '', fraction = ''] = amount.split('.')
    const raw = BigInt(whole + fraction.padEnd(asset.decimals, '0'))
    return [blockNumber, logIndex, leg, type, wallet, asset.address, raw, counterparty].join(' ').toLowerCase()
  })
}

function truthAbout(wallet: string): string[] {
  const rank = (text: string) => text.split(' ').slice(0, 3).map(Number) as [number, number, number]
  return truth
    .filter((text) => text.split(' ')[4] === wallet.toLowerCase())
    .sort((a, b) => {
      const [[blockA, logA, legA], [blockB, logB, legB]] = [rank(a), rank(b)]
      return blockB - blockA || logB - logA || legA - legB
    })
}

function walletsInTruth(): string[] {
  return [...new Set(truth.map((text) => text.split(' ')[4] ?? ''))]
}

test('every wallet has exactly the events of the receipts, newest first, with an exact total', async () => {
  const wallets = walletsInTruth()
  expect(wallets.length).toBeGreaterThan(15)
  for (const wallet of wallets.filter((_, index) => IS_FULL || index % 2 === 0)) {
    const { events, totals } = await allEvents(wallet)
    expect(formatEvents(wallet, events)).toEqual(truthAbout(wallet))
    expect([...totals]).toEqual([events.length])
  }
})

test('pages of every size meet without a gap where the stored events end and the young ones begin', async () => {
  const [wallet] = past.wallets as [Address]
  for (const limit of IS_FULL ? [1, 3, 4, 5, 7] : [3, 4]) {
    expect(formatEvents(wallet, (await allEvents(wallet, '', limit)).events)).toEqual(truthAbout(wallet))
  }
})

test('some events are stored and some are read live', async () => {
  const newest = Number(await aave.blockNumber())
  const blocks = truth.map((text) => Number(text.split(' ')[0]))
  expect(blocks.filter((block) => block > newest - DEPTH).length).toBeGreaterThan(2)
  const [row] = await database.db.run<{ stored: string; young: string }>(
    `select count(*)::text as stored, count(*) filter (where block > ${newest - DEPTH})::text as young from lending_event`,
    [],
  )
  expect(Number(row?.stored)).toBeGreaterThan(100)
  expect(row?.young).toBe('0')
})

test('prices and values are those of the oracle at the block, times those of the headers', async () => {
  for (const wallet of past.wallets) {
    const { events } = await allEvents(wallet)
    const prices = await devnet.rpc.batch<Hex>(
      events.map(({ asset, blockNumber }) => ({
        method: 'eth_call',
        params: [
          {
            to: MARKETS.main.oracle,
            data: encodeFunctionData({ abi: ABI, functionName: 'getAssetPrice', args: [asset.address] }),
          },
          toHex(blockNumber),
        ],
      })),
    )
    const headers = await devnet.rpc.batch<{ readonly timestamp: Hex }>(
      events.map(({ blockNumber }) => ({ method: 'eth_getBlockByNumber', params: [toHex(blockNumber), false] })),
    )
    for (const [index, event] of events.entries()) {
      const price = BigInt(prices[index] ?? 0)
      const [whole = '', fraction = ''] = event.amount.split('.')
      const raw = BigInt(whole + fraction.padEnd(event.asset.decimals, '0'))
      expect(event.priceUSD).toBe(usd(price, 8))
      expect(event.amountUSD).toBe(usd(raw * price, 8 + event.asset.decimals))
      expect(event.timestamp).toBe(Number(headers[index]?.timestamp))
      const asset = Object.values(ASSETS).find(({ address }) => address === event.asset.address)
      expect(event.asset).toMatchObject({
        symbol: asset?.symbol,
        name: asset?.name,
        decimals: asset?.decimals,
        logoURI: null,
      })
    }
  }
})

/** Six digits, half up, by another way than ours: the text of the number with seven. */
function usd(units: bigint, scale: number): string {
  const micro = (units * 10n ** 6n * 2n + 10n ** BigInt(scale)) / (2n * 10n ** BigInt(scale))
  const digits = String(micro).padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`
}

test('the type filter counts and shows one type alone', async () => {
  const [wallet] = past.wallets as [Address]
  for (const type of LENDING_EVENT_TYPES) {
    const { events, totals } = await allEvents(wallet, `&type=${type}`)
    const wanted = truthAbout(wallet).filter((text) => text.split(' ')[3] === type)
    expect(formatEvents(wallet, events)).toEqual(wanted)
    expect([...totals]).toEqual([wanted.length])
  }
})

test('an answer costs 1 credit, names its block and whose word it rests on, and links to its neighbours', async () => {
  const [wallet] = past.wallets as [Address]
  const { reply, credits, creditsMin } = await ask(wallet, '&limit=2&page=2')
  expect([credits, creditsMin]).toEqual([1, 1])
  expect(reply.asOf).toMatchObject([{ chainId: 1, blockNumber: await aave.blockNumber() }])
  // A page without events rests on the logs alone, which one endpoint gave.
  for (const each of [reply, (await ask(wallet, '&page=99')).reply]) expect(each.unwitnessed).toEqual([1])
  expect(reply.pagination).toMatchObject({ page: 2, limit: 2, total: truthAbout(wallet).length })
  expect(reply.pagination?.next_page).toContain('page=3')
  expect(reply.pagination?.prev_page).toContain('page=1')
})

test('a list that goes on is as of the block at which it began, and refused if that was replaced', async () => {
  const [wallet] = past.wallets as [Address]
  const wanted = truthAbout(wallet)
  const toBlock = (text = '') => Number(text.split(' ')[0])
  const final = Number(await aave.blockNumber()) - DEPTH
  const young = wanted.findLast((text) => toBlock(text) > final)
  const stored = wanted.filter((text) => toBlock(text) <= final)[1]
  for (const number of [toBlock(young), toBlock(stored)]) {
    const events = wanted.filter((text) => toBlock(text) <= number)
    const { reply } = await ask(wallet, '&limit=25', [{ chainId: 1, number }])
    expect([formatEvents(wallet, reply.data as WireEvent[]), reply.pagination?.total, reply.asOf]).toMatchObject([
      events.slice(0, 25),
      events.length,
      [{ chainId: 1, blockNumber: BigInt(number) }],
    ])
    const { timestampSec = 0n } = reply.asOf?.[0] ?? {}
    const replaced = [{ chainId: 1, number, timestampSec: Number(timestampSec) + 1 }]
    await expect(ask(wallet, '', replaced)).rejects.toThrow('the list has changed since it began')
  }
})

test('an answer whose end would take too many requests names the final block, where it ends', async () => {
  const [wallet] = past.wallets as [Address]
  const newest = Number(await aave.blockNumber())
  faulty.rule(capped(dialect, 2))
  // What is learned about the endpoint is of no use to the other tests.
  const fresh = createClient()
  const young = createHistory({
    clients: new Map([[1, fresh]]),
    db: database.db,
    clock: slowClock,
    log: silentLog,
    holder: 'capped',
  })
  const routes = createFamilyRoutes(AAVE_V3, {
    rows: [[1, DEVNET_ROW]],
    clients: [fresh],
    db: database.db,
    history: young,
  })
  const events = routes.find(({ path }) => path === PATH) as Route
  const query = `wallet=${wallet}&limit=25`
  const { reply } = await callRoute(events, { params: { chain_id: '1' }, query }).finally(async () => {
    await young.close()
    fresh.close()
  })
  const final = truthAbout(wallet).filter((text) => Number(text.split(' ')[0]) <= newest - DEPTH)
  expect(final.length).toBeLessThan(truthAbout(wallet).length)
  expect(formatEvents(wallet, reply.data as WireEvent[])).toEqual(final.slice(0, 25))
  expect(reply.pagination?.total).toBe(final.length)
  expect(reply.asOf).toMatchObject([{ chainId: 1, blockNumber: BigInt(newest - DEPTH) }])
})

test('a wallet that was only sent aTokens has no events, though its balance is complete', async () => {
  const { receiver } = aave.wallets
  expect((await ask(receiver)).reply).toMatchObject({ data: [], pagination: { total: 0 } })
  const rows = await database.db.run<{ kind: string }>(
    `select kind from lending_event where wallet = decode('${receiver.slice(2)}', 'hex')`,
    [],
  )
  expect(rows.map(({ kind }) => kind)).toEqual(['receive'])
})

test('a wallet without events, in any market, has an empty list', async () => {
  const stranger = getAddress('0x00000000000000000000000000000000000abcde')
  expect((await ask(stranger)).reply).toMatchObject({ data: [], pagination: { total: 0 } })
  const [wallet] = past.wallets as [Address]
  expect((await ask(wallet, '&market_id=lido')).reply).toMatchObject({ data: [], pagination: { total: 0 } })
})

test('prices already read are kept while the last one of a page is pending', async () => {
  const [wallet] = past.wallets as [Address]
  const { events } = await allEvents(wallet)
  const page = events.slice(-5)
  const broken = page.at(-1)
  if (broken === undefined) throw new Error('There is no event')
  await database.db.run('delete from price_at', [])
  faulty.rule(({ method, params }) =>
    method === 'eth_call' && params[1] === toHex(broken.blockNumber) ? { kind: 'hang' } : undefined,
  )
  // The endpoint is slow for this request alone.
  const fresh = createClient()
  const wanted = page.map(({ asset, blockNumber, timestamp }) => ({
    token: asset.address,
    isFinal: true,
    block: { number: BigInt(blockNumber), timestampSec: BigInt(timestamp) },
  }))
  const { provider, oracle } = MARKETS.main
  const prices = createPriceReader({ db: database.db, clock: slowClock })
  const question = { source: { kind: 'aave_market', provider, oracle }, requests: wanted } as const
  const others = page.filter(({ blockNumber }) => blockNumber !== broken.blockNumber)
  const found = new Set(others.map((each) => `${each.blockNumber} ${each.asset.address}`))
  expect(found.size).toBeGreaterThan(1)
  const left = new AbortController()
  try {
    const answer = prices.pricesAt(fresh, question, createWork(left.signal)).catch((error: Error) => error)
    const kept = async () => (await database.db.run('select from price_at', [])).length
    await waitFor('the other prices', async () => (await kept()) === found.size)
    left.abort()
    expect(await answer).toBeInstanceOf(Error)
  } finally {
    fresh.close()
  }
})

/** Refuses calls at older blocks, as a node without archive state does. */
function forgetBefore(newest: number): void {
  faulty.rule(({ method, params }) => {
    const at = params[1]
    const isPast = typeof at === 'string' && at.startsWith('0x') && Number(at) < newest
    return method === 'eth_call' && isPast
      ? { kind: 'error', error: { code: -32000, message: 'missing trie node 0xabc (path )' } }
      : undefined
  })
}

test('events shown once need no archive; others are 503 naming the asset and the remedy', async () => {
  const [wallet] = past.wallets as [Address]
  const { events } = await allEvents(wallet)
  const newest = Number(await aave.blockNumber())
  forgetBefore(newest)
  const final = events.filter(({ blockNumber }) => blockNumber <= newest - DEPTH).length
  const page = Math.ceil((events.length - final) / 5) + 1
  const { reply } = await ask(wallet, `&limit=5&page=${page}`)
  expect(reply.data).toEqual(events.slice((page - 1) * 5, page * 5))
  const other = walletsInTruth().find((each) => each === aave.wallets.lender.toLowerCase()) as string
  await database.db.run('delete from price_at', [])
  const failure = await ask(other).then(
    () => new Error('It answered'),
    (error: Error) => error,
  )
  expect(failure).toBeInstanceOf(UnavailableError)
  expect(failure.message).toMatch(
    /^Cannot price \S+ \(0x[0-9a-fA-F]{40}\) at block \d+ of chain 1 \(Devnet\) because no endpoint keeps the state of block \d+, and no feed of it keeps rounds so old: set an endpoint with archive state in RPC_URL_1, or a price feed of the token in CHAINS_FILE$/,
  )
})

test("without archive state, the rounds that the market's feed keeps give the oracle's price at the block", async () => {
  const newest = Number(await aave.blockNumber())
  forgetBefore(newest)
  const blocks = [past.fromBlock, Math.floor((past.fromBlock + past.toBlock) / 2), past.toBlock, newest]
  for (const number of blocks) {
    const header = await devnet.rpc.call<{ readonly timestamp: Hex }>('eth_getBlockByNumber', toHex(number), false)
    const data = encodeFunctionData({ abi: ABI, functionName: 'getAssetPrice', args: [DAI] })
    const wanted = await devnet.rpc.call<Hex>('eth_call', { to: MARKETS.main.oracle, data }, toHex(number))
    const { provider, oracle } = MARKETS.main
    const prices = await readPricesAt(
      client,
      {
        source: { kind: 'aave_market', provider, oracle },
        tokens: [DAI],
        clock: slowClock,
        block: { number: BigInt(number), timestampSec: BigInt(header.timestamp) },
      },
      createWork(new AbortController().signal),
    )
    expect(prices.get(DAI)).toMatchObject({ price: { units: BigInt(wanted), scale: 8 } })
    if (number < newest) expect(prices.get(DAI)).toMatchObject({ evidence: 'round' })
  }
})

test('a wallet that never moved anything there is answered by its state, no logs are read for it, and nothing stored', async () => {
  const stranger = `0x${'ab'.repeat(20)}` as Address
  const other = await testDatabase()
  const fresh = createHistory({
    clients: new Map([[1, client]]),
    db: other.db,
    clock: slowClock,
    log: silentLog,
    holder: 'fresh',
  })
  try {
    const rows = [[1, DEVNET_ROW]] as const
    const routes = createFamilyRoutes(AAVE_V3, { rows, clients: [client], db: other.db, history: fresh })
    const events = routes.find(({ path }) => path === PATH) as Route
    const askFor = (wallet: Address) => callRoute(events, { params: { chain_id: '1' }, query: `wallet=${wallet}` })
    faulty.reset()
    const { reply } = await askFor(stranger)
    expect(reply).toMatchObject({ data: [], pagination: { total: 0 } })
    expect(faulty.seen.filter(({ method }) => method === 'eth_getLogs')).toEqual([])
    expect(await other.db.run('select from history_coverage', [])).toEqual([])

    // It has moved something now, if only by another's hand, and in a block that is not final.
    await aave.supply({ market: 'main', wallet: stranger, asset: 'usdc', amount: rawUsd('usdc', 3) })
    await waitFor('its event', async () => {
      const data = await askFor(stranger).then(
        (answer) => answer.reply.data as readonly WireEvent[],
        () => [],
      )
      return data.length === 1 && data[0]?.type === 'supply'
    })
    expect(faulty.seen.some(({ method }) => method === 'eth_getLogs')).toBe(true)
  } finally {
    await fresh.close()
    await other.close()
  }
}, 60_000)

test('with every third request limited, one list of events after the other is answered, and new ones are read', async () => {
  const limited = createClient()
  const anew = createHistory({
    clients: new Map([[1, limited]]),
    db: database.db,
    clock: slowClock,
    log: silentLog,
    holder: 'limited',
  })
  const known = route
  try {
    const routes = createFamilyRoutes(AAVE_V3, {
      rows: [[1, DEVNET_ROW]],
      clients: [limited],
      db: database.db,
      history: anew,
    })
    route = routes.find(({ path }) => path === PATH) as Route
    const [wallet] = past.wallets as [Address]
    const { events } = await allEvents(wallet)
    let requests = 0
    faulty.rule(() => (++requests % 3 === 0 ? { kind: 'http', status: 429, body: '' } : undefined))
    for (let times = 0; times < caseCount(10, 3); times++) {
      const { reply } = await callRoute(route, { params: { chain_id: '1' }, query: `wallet=${wallet}&limit=5` })
      expect(reply.data).toEqual(events.slice(0, 5))
    }
    await database.db.run('delete from price_at', [])
    expect((await allEvents(wallet)).events).toEqual(events)
  } finally {
    route = known
    await anew.close()
    limited.close()
  }
})
