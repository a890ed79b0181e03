import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, parseAbi, zeroAddress } from 'viem'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { CURRENCY_FEED_ROWS } from '../../../../src/finance/currency/table.ts'
import { openapiDocument } from '../../../../src/http/openapi/document.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { formatExact } from '../../../../src/lib/number/decimal.ts'
import { BANK, TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { usdToRaw } from '../../../devnet/scenario.ts'
import { callRoute } from '../../../support/call_route.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { findMismatches } from '../../../support/json_schema.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createCode, deploy, transferCall } from '../../finance/token/balance/world.ts'
import { allRows, countedClient, createPortfolio, e6, listing, type WireRow } from '../support.ts'

const DAY_SEC = 86_400
const HEARTBEAT_SEC = 3_600
const BORROWER_ID = 130
const HOLDER = toWalletAddress('holds ether elsewhere')
const { weth, usdc, dai } = TOKENS
const WETH_RAW = 5n * 10n ** 18n

let ethereum: Devnet
let borrower: Devnet
let ethereumRpc: FaultyRpc
let database: TestDatabase
let nowSec: number
const clock: Clock = { ...slowClock, now: () => nowSec * 1_000 }

beforeAll(async () => {
  database = await testDatabase()
  const options = { ageSec: 30 * DAY_SEC }
  ;[ethereum, borrower] = await Promise.all([startDevnet(options), startDevnet({ ...options, chainId: BORROWER_ID })])
  ethereumRpc = await startFaultyRpc(ethereum.rpcUrl)
  const blocks = await Promise.all([ethereum, borrower].map(({ client }) => client.getBlock()))
  nowSec = (Math.floor(Math.max(...blocks.map(({ timestamp }) => Number(timestamp))) / DAY_SEC) + 1) * DAY_SEC
  await mine(borrower, nowSec)
  await borrower.send([
    transferCall(weth.address, { from: BANK, to: HOLDER, value: WETH_RAW }),
    transferCall(usdc.address, { from: BANK, to: HOLDER, value: usdToRaw(usdc, 1_000) }),
    transferCall(dai.address, { from: BANK, to: HOLDER, value: usdToRaw(dai, 1_000) }),
  ])
  await borrower.rpc.call('anvil_setBalance', HOLDER, `0x${(2n * 10n ** 18n).toString(16)}`)
}, 300_000)

afterAll(async () => {
  await ethereumRpc?.stop()
  await Promise.all([ethereum?.stop(), borrower?.stop()])
  await database?.close()
}, 60_000)

async function mine({ rpc }: Devnet, timeSec: number): Promise<void> {
  await rpc.call('evm_setNextBlockTimestamp', timeSec)
  await rpc.call('evm_mine')
  nowSec = Math.max(nowSec, timeSec)
}

/** A round of ether's feed on Ethereum, in a block of that time. */
async function tellPrice(dollars: bigint, timeSec: number): Promise<void> {
  await ethereum.rpc.call('evm_setNextBlockTimestamp', timeSec)
  await ethereum.setFeed(weth.feed, { answer: dollars * 10n ** 8n, updatedAtSec: BigInt(timeSec) })
  nowSec = Math.max(nowSec, timeSec)
}

function createLender(overrides: Partial<FinanceChain> = {}): FinanceChain {
  const usdFeeds = { [weth.address]: { feed: weth.feed, heartbeatSec: HEARTBEAT_SEC } }
  const chain = createDevnetChain(ethereum, { prices: { usdFeeds, stablecoins: [] }, ...overrides })
  return listing({ ...chain, rpcUrls: [ethereumRpc.url] }, [])
}

function createBorrower(): FinanceChain {
  return listing(
    createDevnetChain(borrower, {
      prices: { usdFeeds: {}, stablecoins: [] },
      borrowedFeed: { chainId: 1, token: weth.address, stablecoins: [usdc.address] },
    }),
    [weth.address, usdc.address, dai.address],
  )
}

function createPortfolioWith(lender: FinanceChain | undefined) {
  const chains = [createBorrower(), ...(lender === undefined ? [] : [lender])]
  return createPortfolio(
    chains.map((chain) => countedClient(chain).client),
    { db: database.db, clock },
  )
}

interface WireBalance {
  readonly net_worth_usd: string | null
  readonly incomplete: readonly { readonly what: string; readonly why: string }[]
}

async function read(portfolio: ReturnType<typeof createPortfolio>, moment = '') {
  const query = `wallet=${HOLDER}&chain_id=${BORROWER_ID}${moment}`
  const balance = (await portfolio.balance(query)).reply.data as WireBalance
  const rows = await allRows(portfolio, query)
  const row = (address: string): Partial<WireRow> => rows.find(({ token }) => token.id === address) ?? {}
  return {
    balance,
    ether: row(zeroAddress),
    wrapped: row(weth.address),
    dollar: row(usdc.address),
    dai: row(dai.address),
  }
}

const NOTHING = { price_usd: null, price_source: null, price_chain_id: null, value_usd: null }

test('ether and the dollars of a chain without feeds have Ethereum’s feed and one dollar', async () => {
  await tellPrice(2_000n, nowSec + 12)
  await mine(borrower, nowSec + 2)
  const told = await read(createPortfolioWith(createLender()))
  const ether = { price_source: 'feed', price_confidence: 'oracle', price_chain_id: 1, counted: true }
  expect(told.ether).toMatchObject({ ...ether, value_usd: '4000.000000' })
  expect(told.wrapped).toMatchObject({ ...ether, price_usd: '2000', value_usd: '10000.000000' })
  expect(told.dollar).toMatchObject({ price_source: 'stablecoin', price_chain_id: null, value_usd: '1000.000000' })
  expect(told.dai).toMatchObject({ ...NOTHING, reason: 'unpriced' })
  expect(told.balance.net_worth_usd).toBe('15000.000000')
  expect(told.balance.incomplete.map(({ what }) => what)).toEqual([
    `value of DAI (${dai.address}) on chain ${BORROWER_ID}`,
  ])
})

test('the round is that of the last block of Ethereum that is not later than the answer’s', async () => {
  await mine(borrower, nowSec + 2)
  await tellPrice(3_000n, nowSec + 12)
  expect((await read(createPortfolioWith(createLender()))).wrapped.price_usd).toBe('2000')
  await mine(borrower, nowSec + 2)
  expect((await read(createPortfolioWith(createLender()))).wrapped.price_usd).toBe('3000')
})

test('a past block has the round of its time, and its price stays when Ethereum says another', async () => {
  const { number, timestamp } = await borrower.client.getBlock()
  await tellPrice(4_000n, nowSec + 12)
  await mine(borrower, nowSec + 2)
  const dated = await read(createPortfolioWith(createLender()), `&at_block=${number}`)
  expect(dated.wrapped).toMatchObject({ price_usd: '3000', price_chain_id: 1, value_usd: '15000.000000' })
  expect((await read(createPortfolioWith(createLender()), `&at_time=${timestamp}`)).wrapped.price_usd).toBe('3000')
})

test('a feed that is late prices neither ether nor the dollar beside it, and the sum says so', async () => {
  await mine(borrower, nowSec + HEARTBEAT_SEC + 301)
  const late = await read(createPortfolioWith(createLender()))
  expect(late.wrapped).toMatchObject({ ...NOTHING, reason: 'stale' })
  expect([late.ether, late.dollar]).toMatchObject([NOTHING, NOTHING])
  expect(late.balance.net_worth_usd).toBe('0.000000')
  expect(late.balance.incomplete).toHaveLength(4)
})

test('without Ethereum nothing of the chain has a price, and its net worth is null', async () => {
  const { balance, wrapped, dollar } = await read(createPortfolioWith(undefined))
  expect([wrapped, dollar]).toMatchObject([NOTHING, NOTHING])
  expect(balance.net_worth_usd).toBeNull()
  const [gap] = balance.incomplete
  expect(gap?.why).toBe('No source of prices is configured for the chain')
})

test('where Ethereum does not answer, a live read says so and a dated one fails', async () => {
  await tellPrice(4_000n, nowSec + 12)
  await mine(borrower, nowSec + 2)
  ethereumRpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
  const portfolio = createPortfolioWith(createLender())
  try {
    const { wrapped, dollar } = await read(portfolio)
    expect(wrapped).toMatchObject({ ...NOTHING, reason: 'unpriced' })
    expect(wrapped.detail).toContain('Devnet, whose feed prices it, cannot be read now')
    expect(dollar).toMatchObject(NOTHING)
    const { number } = await borrower.client.getBlock()
    await expect(read(portfolio, `&at_block=${number}`)).rejects.toThrow()
  } finally {
    ethereumRpc.rule(() => undefined)
  }
})

test('a round at a bound, and one of before a halt of the lender, price nothing, live or dated', async () => {
  const abi = parseAbi(['function set(int256 answer, uint256 startedAt, uint256 updatedAt)'])
  const codes = [createCode('BoundedAggregator', 1, 2_500 * 10 ** 8), createCode('BoundedAggregator', 0, 0)]
  const [feed, sequencerFeed] = (await deploy(ethereum, codes)) as [Address, Address]
  const set = async (to: Address, answer: bigint, timeSec: number) => {
    await ethereum.rpc.call('evm_setNextBlockTimestamp', timeSec)
    const args = [answer, BigInt(timeSec), BigInt(timeSec)] as const
    await ethereum.send([{ from: BANK, to, data: encodeFunctionData({ abi, functionName: 'set', args }) }])
    nowSec = Math.max(nowSec, timeSec)
  }
  const usdFeeds = { [weth.address]: { feed, heartbeatSec: HEARTBEAT_SEC } }
  const lender = createLender({ prices: { usdFeeds, stablecoins: [], sequencerFeed } })
  const told: unknown[] = []
  const tell = async () => {
    await mine(borrower, nowSec + 2)
    const { number } = await borrower.client.getBlock()
    for (const moment of ['', `&at_block=${number}`]) {
      const { price_usd, detail } = (await read(createPortfolioWith(lender), moment)).wrapped
      told.push(price_usd ?? detail)
    }
  }
  await set(sequencerFeed, 0n, nowSec + 12)
  await set(feed, 2_500n * 10n ** 8n, nowSec + 12)
  await tell()
  await set(feed, 2_499n * 10n ** 8n, nowSec + 12)
  await tell()
  await set(sequencerFeed, 1n, nowSec + 12)
  await tell()
  const bound = expect.stringContaining('stands at a bound of what it can answer')
  const halt = expect.stringContaining("answered before the chain's sequencer halted")
  expect(told).toEqual([bound, bound, '2499', '2499', halt, halt])
})

test('a midnight has the round of its time, and is read again when another feed is lent', async () => {
  const midnightSec = (Math.floor(nowSec / DAY_SEC) + 1) * DAY_SEC
  await tellPrice(5_000n, midnightSec - 10)
  await mine(borrower, midnightSec - 5)
  await tellPrice(6_000n, midnightSec + 10)
  await mine(borrower, midnightSec + 10)
  // After the newest midnight, which the database's clock calls old.
  await mine(ethereum, midnightSec + 2 * DAY_SEC + 60)
  await mine(borrower, midnightSec + 2 * DAY_SEC + 60)
  const query = `wallet=${HOLDER}&chain_id=${BORROWER_ID}&max_snapshots=3`
  const readMidnight = async (portfolio: ReturnType<typeof createPortfolio>) => {
    const { reply } = await portfolio.snapshots(query)
    const midnights = reply.data as readonly (WireBalance & { readonly timestamp: number })[]
    return midnights.find(({ timestamp }) => timestamp === midnightSec)?.net_worth_usd
  }
  expect(await readMidnight(createPortfolioWith(undefined))).toBeNull()
  expect(await readMidnight(createPortfolioWith(createLender()))).toBe('36000.000000')
}, 60_000)

describe('figures in a currency', () => {
  const getFeed = (name: string) => CURRENCY_FEED_ROWS[1]?.find(([currency]) => currency === name)?.[1] ?? BANK
  const EUR = getFeed('EUR')
  const JPY = getFeed('JPY')
  const FEED = parseAbi(['function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)'])
  let beforeFeeds: bigint

  /** Dollars per unit, as the feed's contract itself says. */
  async function readFeed(feed: Address, blockNumber?: bigint): Promise<bigint> {
    const call = {
      address: feed,
      abi: FEED,
      functionName: 'latestRoundData',
      ...(blockNumber && { blockNumber }),
    } as const
    return (await ethereum.client.readContract(call))[1]
  }

  async function tellRate(feed: Address, answer: bigint, timeSec: number): Promise<void> {
    await ethereum.rpc.call('evm_setNextBlockTimestamp', timeSec)
    await ethereum.setFeed(feed, { answer, updatedAtSec: BigInt(timeSec) })
    nowSec = Math.max(nowSec, timeSec)
  }

  /** What of an answer has no sibling that is the dollars ÷ the rate, to half a millionth of a unit. */
  function findWrong(node: unknown, currency: string, rate: bigint): string[] {
    if (Array.isArray(node)) return node.flatMap((each) => findWrong(each, currency, rate))
    if (typeof node !== 'object' || node === null) return []
    return Object.entries(node).flatMap(([name, value]) => {
      if (!/(^|_)usd$/.test(name) || name.startsWith('price_')) return findWrong(value, currency, rate)
      const sibling = Reflect.get(node, name.replace(/usd$/, currency)) as string | null | undefined
      if (value === null || typeof sibling !== 'string') return value === sibling ? [] : [name]
      const twice = 2n * (e6(sibling) * rate - e6(value as string) * 10n ** 8n)
      return (twice < 0n ? -twice : twice) <= rate ? [] : [name]
    })
  }

  beforeAll(async () => {
    beforeFeeds = await ethereum.client.getBlockNumber()
    const code = await ethereum.client.getCode({ address: weth.feed })
    for (const feed of [EUR, JPY]) await ethereum.rpc.call('anvil_setCode', feed, code)
    await tellPrice(2_000n, nowSec + 12)
    await tellRate(EUR, 108_345_678n, nowSec + 12)
    await tellRate(JPY, 667_123n, nowSec + 12)
    await mine(borrower, nowSec + 2)
  }, 60_000)

  test('are the dollars by the rate of Ethereum’s feed, on every route, and the schema knows them', async () => {
    const portfolio = createPortfolioWith(createLender())
    const document = JSON.parse(openapiDocument({ routes: portfolio.routes }))
    for (const [currency, feed] of [
      ['EUR', EUR],
      ['JPY', JPY],
    ] as const) {
      const rate = await readFeed(feed)
      for (const path of ['balance', 'assets', 'exit', '/v1/wallet/overview']) {
        const route = portfolio.routeAt(path)
        const place = path.startsWith('/') ? '' : `&chain_id=${BORROWER_ID}`
        const { reply } = await callRoute(route, { query: `wallet=${HOLDER}${place}&currency=${currency}` })
        const { data, fx, pagination } = reply
        expect(findWrong(data, currency.toLowerCase(), rate)).toEqual([])
        expect(fx).toMatchObject({ currency, rate: formatExact(rate, 8), market: 'forex', stale: false, chain_id: 1 })
        const body = JSON.parse(JSON.stringify({ data, fx, pagination, request_id: 'req_1' }))
        const { schema } = document.paths[route.path].get.responses[200].content['application/json']
        expect(findMismatches(schema, body, document)).toEqual([])
        const misspelled = JSON.parse(JSON.stringify(body).replace(`_${currency.toLowerCase()}"`, '_euros"'))
        expect(findMismatches(schema, misspelled, document)).toHaveLength(1)
      }
    }
    const [row] = (await portfolio.assets(`wallet=${HOLDER}&chain_id=${BORROWER_ID}&currency=EUR`)).reply
      .data as readonly [{ readonly price_usd: string; readonly price_eur: string }]
    // Digits of 2000 ÷ 1.08345678 by bc.
    expect(row).toMatchObject({ price_usd: '2000', price_eur: '1845.94349947212477' })
  })

  test('of a past block have its rate, however old, and of a block before the feed none', async () => {
    const portfolio = createPortfolioWith(createLender())
    const { number } = await borrower.client.getBlock()
    const own = await ethereum.client.getBlockNumber()
    const rate = await readFeed(EUR)
    await tellRate(EUR, 120_000_000n, nowSec + 12)
    await mine(borrower, nowSec + 2)
    const ask = async (moment: string) => (await portfolio.balance(`wallet=${HOLDER}&currency=EUR${moment}`)).reply.fx
    expect(await ask(`&chain_id=${BORROWER_ID}&at_block=${number}`)).toMatchObject({ rate: formatExact(rate, 8) })
    expect(await ask(`&chain_id=1&at_block=${own}`)).toMatchObject({ rate: formatExact(rate, 8), chain_id: 1 })
    expect(await ask(`&chain_id=${BORROWER_ID}`)).toMatchObject({ rate: '1.2', stale: false })
    await mine(ethereum, nowSec + DAY_SEC + 301)
    await mine(borrower, nowSec + 2)
    expect(await ask(`&chain_id=${BORROWER_ID}`)).toMatchObject({ rate: '1.2', stale: true, as_of: expect.any(Number) })
    const early = ask(`&chain_id=1&at_block=${beforeFeeds}`)
    await expect(early).rejects.toThrow(
      /^Cannot read parameter "currency": expected none here, its feed on Devnet \(1\)/,
    )
  })

  test('of a midnight have the rate of Ethereum at that midnight', async () => {
    const portfolio = createPortfolioWith(createLender())
    const midnightSec = (Math.floor(nowSec / DAY_SEC) + 1) * DAY_SEC
    await tellRate(EUR, 111_111_111n, midnightSec - 10)
    await tellPrice(3_000n, midnightSec - 8)
    await mine(borrower, midnightSec - 5)
    await tellRate(EUR, 125_000_000n, midnightSec + 10)
    await mine(borrower, midnightSec + 10)
    const query = `wallet=${HOLDER}&chain_id=${BORROWER_ID}&max_snapshots=1&currency=EUR`
    const { data, fx } = (await portfolio.snapshots(query)).reply
    expect(fx).toEqual({ currency: 'EUR', market: 'forex', chain_id: 1 })
    expect(data).toMatchObject([{ timestamp: midnightSec, fx_rate: '1.11111111' }])
    expect(findWrong(data, 'eur', 111_111_111n)).toEqual([])
  })

  test('are none where nothing was read, and the answer says so without a rate', async () => {
    const portfolio = createPortfolioWith(createLender())
    const query = `wallet=${HOLDER}&chain_id=1&allow_partial=true`
    ethereumRpc.rule(() => ({ kind: 'http', status: 503, body: '' }))
    try {
      const { reply } = await portfolio.balance(`${query}&currency=EUR`)
      expect(reply).toEqual((await portfolio.balance(query)).reply)
      expect(reply.data).toMatchObject({ complete: false, unread: [{ chain_id: 1 }] })
    } finally {
      ethereumRpc.rule(() => undefined)
    }
  })

  test('need a feed: without one of a served chain the error says so', async () => {
    const ask = (currency: string) => createPortfolioWith(undefined).balance(`wallet=${HOLDER}&currency=${currency}`)
    await expect(ask('EUR')).rejects.toThrow('expected none here, no served chain has feeds of currencies, got "EUR"')
    await expect(ask('eur')).rejects.toThrow('Cannot read parameter "currency": expected one of EUR, GBP')
  })
})
