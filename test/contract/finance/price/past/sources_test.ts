import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, getAddress } from 'viem'
import { createChainClient } from '../../../../../src/chain/evm/evm_client.ts'
import type { ChainPrices } from '../../../../../src/finance/chain.ts'
import { type PriceBlock, readPricesAt } from '../../../../../src/finance/price/past/prices_at.ts'
import type { PriceSource } from '../../../../../src/finance/price/past/sources.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { toWalletAddress } from '../../../../devnet/addresses.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../../support/test_clock.ts'
import { type Feeds, feedsChain, type OracleTerms, startFeeds } from './feeds.ts'

const HOUR_SEC = 3_600
const [A, B, C] = ['first asset', 'second asset', 'third asset'].map((name) => getAddress(toWalletAddress(name))) as [
  Address,
  Address,
  Address,
]
const never = createWork(new AbortController().signal)

let feeds: Feeds
let faulty: FaultyRpc

beforeAll(async () => {
  feeds = await startFeeds()
  faulty = await startFaultyRpc(feeds.rpcUrl)
}, 60_000)
afterAll(async () => {
  await faulty?.stop()
  await feeds?.stop()
})

interface Asked {
  readonly asker?: PriceSource
  readonly tokens: readonly Address[]
  readonly block: PriceBlock
  readonly prices?: Partial<ChainPrices>
  /** True if no endpoint keeps old state. */
  readonly isShallow?: boolean
}

/** Prices of tokens, or why they are missing, in the order of the tokens. */
async function ask({ asker = { kind: 'chain' }, tokens, block, prices = {}, isShallow = false }: Asked) {
  const newest = (await feeds.moment()).number
  faulty.rule(({ method, params: [, at] }) => {
    const isOld = typeof at === 'string' && at.startsWith('0x') && BigInt(at) < newest
    return isShallow && method === 'eth_call' && isOld
      ? { kind: 'error', error: { code: -32000, message: 'missing trie node 0xabc (path )' } }
      : undefined
  })
  const chain = feedsChain([faulty.url], { usdFeeds: {}, stablecoins: [], ...prices })
  const client = createChainClient({ chain, clock: createHurriedClock(), log: silentLog })
  try {
    const found = await readPricesAt(client, { source: asker, tokens, block, clock: slowClock }, never)
    return tokens.map((token) => {
      const outcome = found.get(token)
      return outcome?.kind === 'price'
        ? [outcome.price.units, outcome.price.scale, outcome.price.source]
        : outcome?.because
    })
  } finally {
    client.close()
  }
}

/** Feeds that answer these at once, as oracles ask them. */
async function deployFeeds(...answers: readonly bigint[]): Promise<Address[]> {
  const aggregators = await feeds.aggregators(answers.length)
  for (const [index, aggregator] of aggregators.entries()) await feeds.transmit(aggregator, answers[index] ?? 0n)
  return await Promise.all(aggregators.map((aggregator) => feeds.phased(aggregator)))
}

describe("a market's oracle", () => {
  test('is the one that the market had then, called for each asset in turn, in its own unit', async () => {
    const provider = await feeds.provider()
    const without = await feeds.moment()
    const sources = await deployFeeds(1_000n, 77n)
    const first = await feeds.oracle({ assets: [A, B], sources })
    const second = await feeds.oracle({ assets: [A, B], sources: sources.toReversed(), unit: 10n ** 18n })
    await feeds.setOracle(provider, first)
    const then = await feeds.moment()
    await feeds.setOracle(provider, second)
    const now = await feeds.moment()
    for (const oracle of [first, second]) {
      const asker = { kind: 'aave_market', provider, oracle } as const
      const at = (block: PriceBlock, tokens = [A, B, C]) => ask({ asker, tokens, block })
      const none = "its market's oracle had no price for it"
      expect(await at(then)).toEqual([[1_000n, 8, 'aave_oracle'], [77n, 8, 'aave_oracle'], none])
      expect(await at(then, [C, B, A])).toEqual([none, [77n, 8, 'aave_oracle'], [1_000n, 8, 'aave_oracle']])
      expect(await at(now)).toEqual([[77n, 18, 'aave_oracle'], [1_000n, 18, 'aave_oracle'], none])
      expect(await at(without, [A, B])).toEqual(['its market had no oracle', 'its market had no oracle'])
    }
  })

  test('with another base currency or an odd unit prices nothing; a price of 0 is missing', async () => {
    const provider = await feeds.provider()
    const sources = await deployFeeds(5n, 0n)
    const oracles = [
      await feeds.oracle({ assets: [A, B], sources, base: C }),
      await feeds.oracle({ assets: [A, B], sources, unit: 3n }),
      await feeds.oracle({ assets: [A, B], sources, unit: 0n }),
      await feeds.oracle({ assets: [A, B], sources }),
    ]
    const answers: unknown[] = []
    for (const oracle of oracles) {
      await feeds.setOracle(provider, oracle)
      const asker = { kind: 'aave_market', provider, oracle } as const
      answers.push(await ask({ asker, tokens: [A, B], block: await feeds.moment() }))
    }
    const other = "its market's oracle did not count in US dollars"
    expect(answers.slice(0, 3)).toEqual([0, 1, 2].map(() => [other, other]))
    expect(answers[3]).toEqual([[5n, 8, 'aave_oracle'], "its market's oracle had no price for it"])
  })
})

test('feeds, the oracle and stablecoins are read in the order of the tokens', async () => {
  const [plain, nothing] = await feeds.aggregators(2, 18)
  if (plain === undefined || nothing === undefined) throw new Error('There are no feeds')
  await feeds.transmit(plain, 400n)
  await feeds.transmit(nothing, 0n)
  const [source, zero] = await deployFeeds(31n, 0n)
  if (source === undefined || zero === undefined) throw new Error('There are no sources')
  const [asked, empty, coin, bare] = ['asked', 'priced at 0', 'coin', 'bare'].map((name) =>
    getAddress(toWalletAddress(name)),
  )
  const aaveOracle = await feeds.oracle({ assets: [asked as Address, empty as Address], sources: [source, zero] })
  const block = await feeds.moment()
  const prices = {
    usdFeeds: { [A]: { feed: plain, heartbeatSec: HOUR_SEC }, [B]: { feed: nothing, heartbeatSec: HOUR_SEC } },
    stablecoins: [coin as Address],
    aaveOracle,
  }
  const expected = new Map<Address, unknown>([
    [A, [400n, 18, 'feed']],
    [B, 'its price feed answers nothing above zero'],
    [asked as Address, [31n, 8, 'aave_oracle']],
    [empty as Address, "Aave's oracle has no price for it"],
    [coin as Address, [1n, 0, 'stablecoin']],
    [bare as Address, 'no source of its price is configured'],
  ])
  const tokens = [...expected.keys()]
  for (const order of [tokens, tokens.toReversed(), [...tokens.slice(3), ...tokens.slice(0, 3)]]) {
    const found: unknown[] = await ask({ tokens: order, block, prices })
    expect(found).toEqual(order.map((token) => expected.get(token)))
  }
})

test('an oracle of the chain that does not count in dollars with 8 decimals prices nothing, by state or by rounds', async () => {
  const [aggregator] = (await feeds.aggregators(1)) as [Address]
  await feeds.transmit(aggregator, 7n)
  const then = await feeds.moment()
  await feeds.pass(HOUR_SEC)
  const [source] = await deployFeeds(31n)
  const sources = [source, aggregator].filter((each) => each !== undefined)
  const readBoth = async (terms: Partial<OracleTerms> = {}) => {
    const aaveOracle = await feeds.oracle({ assets: [A, B], sources, ...terms })
    const prices = { aaveOracle, stablecoins: [A, B] }
    const found: unknown[] = [
      ...(await ask({ tokens: [A], prices, block: await feeds.moment() })),
      ...(await ask({ tokens: [B], prices, block: then, isShallow: true })),
    ]
    return found
  }
  expect(await readBoth()).toEqual([
    [31n, 8, 'aave_oracle'],
    [7n, 8, 'feed'],
  ])
  const none = expect.stringContaining('no feed of it keeps rounds so old')
  expect(await readBoth({ base: C })).toEqual(["Aave's oracle has no price for it", none])
  // A round has its own decimals.
  expect(await readBoth({ unit: 10n ** 18n })).toEqual(["Aave's oracle has no price for it", [7n, 8, 'feed']])
})

test('a stablecoin whose source has no answer for that time does not count as a dollar', async () => {
  const [aggregator] = (await feeds.aggregators(1)) as [Address]
  const before = await feeds.moment()
  await feeds.pass(HOUR_SEC)
  await feeds.transmit(aggregator, 7n)
  const provider = await feeds.provider()
  const oracle = await feeds.oracle({ assets: [A], sources: [aggregator] })
  const asked = { tokens: [A, B], block: before, isShallow: true }
  const stablecoins = [A, B]
  const none = expect.stringContaining('no feed of it keeps rounds so old')
  const dollar = [1n, 0, 'stablecoin']
  const usdFeeds = { [A]: { feed: aggregator, heartbeatSec: HOUR_SEC } }
  const found: unknown[] = [
    await ask({ ...asked, prices: { stablecoins, usdFeeds } }),
    await ask({ ...asked, prices: { stablecoins, aaveOracle: oracle } }),
    await ask({ ...asked, prices: { stablecoins }, asker: { kind: 'aave_market', provider, oracle } }),
  ]
  expect(found).toEqual([
    [none, dollar],
    [none, none],
    [none, none],
  ])
})

describe('the rounds that a feed keeps', () => {
  /** A feed whose rounds are these hours from now on, each with its number as its answer; the block of each. */
  async function addPhase(aggregator: Address, answers: readonly bigint[]): Promise<PriceBlock[]> {
    const blocks: PriceBlock[] = []
    for (const answer of answers) {
      await feeds.pass(HOUR_SEC - 60)
      await feeds.transmit(aggregator, answer)
      blocks.push(await feeds.moment())
      await feeds.pass(60)
    }
    return blocks
  }

  const at = async (feed: Address, { number, timestampSec }: PriceBlock, secondsLater = 0n) => {
    const prices = { usdFeeds: { [A]: { feed, heartbeatSec: 10 * HOUR_SEC } } }
    const block = { number, timestampSec: timestampSec + secondsLater }
    return (await ask({ tokens: [A], block, prices, isShallow: true }))[0]
  }

  test('the newest one counts from its own second on, the previous one until then', async () => {
    const [aggregator] = (await feeds.aggregators(1)) as [Address]
    const blocks = await addPhase(aggregator, [11n, 12n, 13n])
    const feed = await feeds.phased(aggregator)
    const [, before, newest] = blocks as [PriceBlock, PriceBlock, PriceBlock]
    for (const each of [aggregator, feed]) {
      expect(await at(each, newest)).toEqual([13n, 8, 'feed'])
      expect(await at(each, newest, 1n)).toEqual([13n, 8, 'feed'])
      expect(await at(each, newest, -1n)).toEqual([12n, 8, 'feed'])
      expect(await at(each, before)).toEqual([12n, 8, 'feed'])
      expect(await at(each, before, -1n)).toEqual([11n, 8, 'feed'])
    }
  })

  test('a round that never finished is no price, whether newest, first or in between', async () => {
    const [aggregator] = (await feeds.aggregators(1)) as [Address]
    const blocks = await addPhase(aggregator, [21n, 22n, 23n, 24n, 25n])
    const feed = await feeds.phased(aggregator)
    for (const round of [1n, 3n, 5n]) await feeds.unfinish(aggregator, round)
    // A block in which the storage is as it is now.
    await feeds.pass(1)
    const found: unknown[] = []
    for (const block of blocks) found.push(await at(feed, block))
    const none = expect.stringContaining('no feed of it keeps rounds so old')
    expect(found).toEqual([none, ...[22n, 22n, 24n, 24n].map((units) => [units, 8, 'feed'])])
  })

  test('a phase without rounds is skipped; a phase without its aggregator hides earlier phases', async () => {
    const [first, empty, last] = (await feeds.aggregators(3)) as [Address, Address, Address]
    const [old] = (await addPhase(first, [31n])) as [PriceBlock]
    const feed = await feeds.phased(first)
    await feeds.confirm(feed, empty)
    await feeds.confirm(feed, last)
    const [young] = (await addPhase(last, [33n])) as [PriceBlock]
    expect(await at(feed, old)).toEqual([31n, 8, 'feed'])
    expect(await at(feed, young, -1n)).toEqual([31n, 8, 'feed'])
    expect(await at(feed, young)).toEqual([33n, 8, 'feed'])
    await feeds.rpc.call('anvil_setCode', empty, '0x')
    await feeds.pass(1)
    expect(await at(feed, old)).toEqual(expect.stringContaining('no feed of it keeps rounds so old'))
  })

  test('an answer of 0 or below is no price', async () => {
    const [aggregator] = (await feeds.aggregators(1)) as [Address]
    const [zero, below, least] = (await addPhase(aggregator, [0n, -5n, 1n])) as [PriceBlock, PriceBlock, PriceBlock]
    const none = 'its price feed answers nothing above zero'
    expect(await at(aggregator, zero)).toBe(none)
    expect(await at(aggregator, below)).toBe(none)
    expect(await at(aggregator, least)).toEqual([1n, 8, 'feed'])
    const provider = await feeds.provider()
    const oracle = await feeds.oracle({ assets: [A], sources: [aggregator] })
    const asker = { kind: 'aave_market', provider, oracle } as const
    for (const block of [zero, below]) {
      const asked = { asker, tokens: [A], block, isShallow: true }
      expect(await ask(asked)).toEqual(['its price feed answered nothing above zero'])
    }
    expect(await ask({ asker, tokens: [A], block: least, isShallow: true })).toEqual([[1n, 8, 'feed']])
  })
})

test("an oracle's feed that is configured too is held against no halt and no age: its market used any answer", async () => {
  const [feed] = (await deployFeeds(500n)) as [Address]
  const [status] = (await feeds.aggregators(1)) as [Address]
  const provider = await feeds.provider()
  const oracle = await feeds.oracle({ assets: [A], sources: [feed] })
  await feeds.setOracle(provider, oracle)
  await feeds.pass(60)
  await feeds.transmit(status, 0n)
  const sequencerFeed = await feeds.phased(status)
  await feeds.pass(60)
  const restarted = await feeds.moment()
  await feeds.pass(40 * HOUR_SEC)
  const old = await feeds.moment()
  await feeds.pass(60)
  const prices = { usdFeeds: { [A]: { feed: getAddress(feed), heartbeatSec: HOUR_SEC } }, sequencerFeed }
  const asker = { kind: 'aave_market', provider, oracle } as const
  const at = async (block: PriceBlock, source: PriceSource) => [
    ...(await ask({ asker: source, tokens: [A], block, prices })),
    ...(await ask({ asker: source, tokens: [A], block, prices, isShallow: true })),
  ]
  const oracles: unknown[] = [await at(restarted, asker), await at(old, asker)]
  const both = [
    [500n, 8, 'aave_oracle'],
    [500n, 8, 'feed'],
  ]
  expect(oracles).toEqual([both, both])
  // The chain's own source is that feed by the rule.
  const [halted, stale] = [await at(restarted, { kind: 'chain' }), await at(old, { kind: 'chain' })]
  expect([...halted, ...stale]).toEqual([
    ...Array(2).fill(expect.stringContaining('sequencer')),
    ...Array(2).fill('its price feed is stale'),
  ])
})
