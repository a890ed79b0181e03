import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Address, getAddress } from 'viem'
import { createChainClient, type EvmClient } from '../../../../../src/chain/evm/evm_client.ts'
import { createPriceReader } from '../../../../../src/finance/price/past/price_reader.ts'
import type { PriceBlock } from '../../../../../src/finance/price/past/prices_at.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../../src/lib/clock.ts'
import { UnavailableError } from '../../../../../src/lib/error.ts'
import { silentLog } from '../../../../../src/lib/log.ts'
import { toWalletAddress } from '../../../../devnet/addresses.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../../support/test_clock.ts'
import { type Feeds, feedsChain, startFeeds } from './feeds.ts'

const never = createWork(new AbortController().signal)
const TOKEN = getAddress(toWalletAddress('priced token'))
/** Counts as a dollar, without a feed. */
const STABLE = getAddress(toWalletAddress('stable token'))
/** The feed's answer at the requested block. */
const UNITS = 1_002n

let feeds: Feeds
let rpcs: readonly [FaultyRpc, FaultyRpc]
let database: TestDatabase
let block: PriceBlock
/** A block at which the feed had long been silent. */
let stale: PriceBlock
/** A block that is older than the feed. */
let early: PriceBlock
/** Blocks in a row at which the feed answered the same. */
const later: PriceBlock[] = []
let usdFeeds: Readonly<Record<string, { readonly feed: `0x${string}`; readonly heartbeatSec: number }>>
const clients: EvmClient[] = []
/** Time that passed apart from the machine's, milliseconds. */
let skippedMs = 0
const clock: Clock = { ...slowClock, monotonicMs: () => slowClock.monotonicMs() + skippedMs }
/** Time of the endpoints' clients. */
const endpointClock = createHurriedClock()

beforeAll(async () => {
  feeds = await startFeeds()
  early = await feeds.moment()
  await feeds.pass(60)
  const [aggregator = TOKEN] = await feeds.aggregators(1)
  await feeds.transmit(aggregator, 1_001n)
  usdFeeds = { [TOKEN]: { feed: await feeds.phased(aggregator), heartbeatSec: 1_000 } }
  for (const units of [UNITS, 1_003n]) {
    await feeds.pass(60)
    await feeds.transmit(aggregator, units)
    await feeds.pass(60)
    if (units === UNITS) block = await feeds.moment()
  }
  for (let count = 0; count < 25; count++) {
    await feeds.pass(1)
    later.push(await feeds.moment())
  }
  // At a named block a round of any feed may be a day old.
  await feeds.pass(90_000)
  stale = await feeds.moment()
  rpcs = await Promise.all([startFaultyRpc(feeds.rpcUrl), startFaultyRpc(feeds.rpcUrl)])
  database = await testDatabase()
}, 60_000)
beforeEach(async () => {
  await database.db.run('delete from price_at', [])
  for (const rpc of rpcs) rpc.rule(() => undefined)
})
afterAll(async () => {
  for (const client of clients) client.close()
  await Promise.all((rpcs ?? []).map((rpc) => rpc.stop()))
  await feeds?.stop()
  await database?.close()
})

/** Creates a reader over a number of endpoints, with its own cache. */
function readerOver(endpoints: 1 | 2, { unbacked = [] }: { readonly unbacked?: readonly Address[] } = {}) {
  const urls = rpcs.slice(0, endpoints).map(({ url }) => url)
  const chain = feedsChain(urls, { usdFeeds, stablecoins: [STABLE], unbacked })
  const client = createChainClient({ chain, clock: endpointClock, log: silentLog })
  clients.push(client)
  return { client, history: createPriceReader({ db: database.db, clock }) }
}

/** Reads final prices over a number of endpoints. */
function pricesOver(endpoints: 1 | 2, { client, history } = readerOver(endpoints)) {
  return (tokens: readonly Address[], blocks: readonly PriceBlock[], isFinal = true) => {
    const wanted = blocks.flatMap((at) => tokens.map((token) => ({ token, block: at, isFinal })))
    return history.pricesAt(client, { source: { kind: 'chain' }, requests: wanted }, never)
  }
}

/** The price of one token. */
function over(endpoints: 1 | 2) {
  const prices = pricesOver(endpoints)
  return async (isFinal = true, at = block) => {
    const [outcome] = await prices([TOKEN], [at], isFinal)
    return outcome?.kind === 'price' ? outcome.price.units : outcome?.because
  }
}

async function stored(): Promise<readonly string[]> {
  const rows = await database.db.run<{ said: string }>(
    `select units::text || ' ' || evidence || ' ' || witnesses as said from price_at`,
    [],
  )
  return rows.map(({ said }) => said)
}

/** Refuses calls at the block, as a node does that keeps no state so old; the rounds of the feed are still there. */
function pruned({ method, params }: SeenRequest) {
  const error = { code: -32_000, message: 'missing trie node 0xabc (path )' }
  const isOfState = method === 'eth_call' && [block, early].some(({ number }) => Number(params[1]) === Number(number))
  return isOfState ? ({ kind: 'error', error } as const) : undefined
}

const dead = () => ({ kind: 'http', status: 500, body: '' }) as const

/** Has the feed answer ten times as much, whenever it is asked. */
function tenfold({ method }: SeenRequest) {
  const word = (units: bigint) => units.toString(16).padStart(64, '0')
  const change = (result: unknown) => String(result).replaceAll(word(UNITS), word(10n * UNITS))
  return method === 'eth_call' ? ({ kind: 'change', change } as const) : undefined
}

/** Stores a price as if it came from a single endpoint earlier. */
async function keptOfOne(units: bigint, evidence: 'state' | 'round'): Promise<void> {
  await over(1)()
  await database.db.run('update price_at set units = $1, evidence = $2, witnesses = 1', [String(units), evidence])
}

/** Moves the stored price to another block. */
async function moveStored({ number, timestampSec }: PriceBlock): Promise<void> {
  const values = [String(number), String(timestampSec)]
  await database.db.run('update price_at set block = $1, block_time = $2', values)
}

test('a price stored before the bridge of its token failed is not believed', async () => {
  expect(await over(2)()).toBe(UNITS)
  const [outcome] = await pricesOver(2, readerOver(2, { unbacked: [TOKEN] }))([TOKEN], [block])
  expect(outcome).toMatchObject({ kind: 'missing', because: 'its bridge lost what it stands for' })
})

test('prices that one endpoint gave are noted, whether they are read, stored or missing', async () => {
  const noted = async (endpoints: 1 | 2, at: PriceBlock, { client, history } = readerOver(endpoints)) => {
    const work = createWork(new AbortController().signal)
    const requests = [{ token: TOKEN, block: at, isFinal: true }]
    await history.pricesAt(client, { source: { kind: 'chain' }, requests }, work)
    return [...work.unwitnessed]
  }
  for (const at of [block, stale]) {
    const [one, two] = [readerOver(1), readerOver(2)]
    for (let asked = 0; asked < 2; asked++) expect(await noted(1, at, one)).toEqual([1])
    await database.db.run('delete from price_at', [])
    for (let asked = 0; asked < 2; asked++) expect(await noted(2, at, two)).toEqual([])
  }
})

test('a price of a feed that an older rule stored is read anew', async () => {
  expect(await over(2)()).toBe(UNITS)
  await database.db.run("update price_at set units = 7, asker = split_part(asker, ';', 1)", [])
  expect(await over(2)()).toBe(UNITS)
  expect([...(await stored())].sort()).toEqual(['1002 state 2', '7 state 2'])
})

test('a stored price is not believed beside another time of its block', async () => {
  const ask = over(2)
  expect(await ask()).toBe(UNITS)
  const wrong = { ...block, timestampSec: block.timestampSec + 1n }
  await expect(ask(true, wrong)).rejects.toThrow(/it is \d+ by its state, and \d+ by its header or its logs/)
  expect(await ask()).toBe(UNITS)
  expect(await stored()).toEqual(['1002 state 2'])
})

test('a price by rounds at a wrong time is replaced by that of the state', async () => {
  await over(2)()
  await database.db.run("update price_at set units = 7, evidence = 'round', block_time = block_time - 5", [])
  expect(await over(2)()).toBe(UNITS)
  expect(await stored()).toEqual(['1002 state 2'])
})

/** Stores the price as an earlier release did, without the time of its block. */
async function keepUndated(units: bigint, { evidence, witnesses }: { evidence: 'state' | 'round'; witnesses: number }) {
  await over(2)()
  await database.db.run('update price_at set units = $1, evidence = $2, witnesses = $3, block_time = null', [
    String(units),
    evidence,
    witnesses,
  ])
}

async function countUndated(): Promise<number> {
  const [row] = await database.db.run<{ count: number }>(
    'select count(*)::int as count from price_at where block_time is null',
    [],
  )
  return row?.count ?? 0
}

describe('prices without the time of their block', () => {
  test('are made anew by as many endpoints as gave them', async () => {
    for (const [endpoints, witnesses] of [
      [2, 2],
      [2, 1],
      [1, 1],
    ] as const) {
      for (const evidence of ['state', 'round'] as const) {
        await database.db.run('delete from price_at', [])
        await keepUndated(7n, { evidence, witnesses })
        expect(await over(endpoints)()).toBe(UNITS)
        expect(await countUndated()).toBe(0)
      }
    }
  })

  test('get their time from one endpoint that tells the same', async () => {
    await keepUndated(UNITS, { evidence: 'state', witnesses: 2 })
    expect(await over(1)()).toBe(UNITS)
    expect(await stored()).toEqual(['1002 state 2'])
    expect(await countUndated()).toBe(0)
  })

  test('go where two endpoints say that there was none', async () => {
    await keepUndated(7n, { evidence: 'state', witnesses: 2 })
    await database.db.run('update price_at set block = $1', [String(stale.number)])
    expect(await over(2)(true, stale)).toBe('its price feed is stale')
    expect(await stored()).toEqual([])
  })

  test('are not replaced on the word of fewer endpoints', async () => {
    await keepUndated(7n, { evidence: 'state', witnesses: 2 })
    await expect(over(1)()).rejects.toMatchObject({ reason: 'disputed' })
    expect(await stored()).toEqual(['7 state 2'])
  })

  test('stay where no endpoint keeps the past, and are left alone for ten minutes', async () => {
    await keepUndated(7n, { evidence: 'state', witnesses: 2 })
    let calls = 0
    for (const rpc of rpcs) {
      rpc.rule((request) => {
        calls++
        return pruned(request)
      })
    }
    const reader = readerOver(2)
    const ask = async () => (await pricesOver(2, reader)([TOKEN], [block]))[0]
    expect(await ask()).toMatchObject({ kind: 'price', price: { units: 7n } })
    const first = calls
    expect(await ask()).toMatchObject({ kind: 'price', price: { units: 7n } })
    expect(calls).toBe(first)
    expect(await countUndated()).toBe(1)
    skippedMs += 10 * 60_000
    for (const rpc of rpcs) rpc.rule(() => undefined)
    expect(await ask()).toMatchObject({ kind: 'price', price: { units: UNITS } })
    expect(await countUndated()).toBe(0)
  })
})

test('prices at blocks that are not final are not stored', async () => {
  expect(await over(2)(false)).toBe(UNITS)
  expect(await stored()).toEqual([])
  expect(await over(2)()).toBe(UNITS)
  expect(await stored()).toEqual(['1002 state 2'])
})

test('without a stored price, an unreachable chain is an error, not a missing price', async () => {
  for (const rpc of rpcs) rpc.rule(dead)
  await expect(over(2)()).rejects.toBeInstanceOf(UnavailableError)
  expect(await stored()).toEqual([])
})

test('a price from a single endpoint is used while the chain is unreachable, without a retry for ten minutes', async () => {
  await keptOfOne(UNITS, 'state')
  for (const rpc of rpcs) rpc.rule(dead)
  const ask = over(2)
  expect(await ask()).toBe(UNITS)
  const requests = () => rpcs[0].seen.length + rpcs[1].seen.length
  const before = requests()
  expect(await ask()).toBe(UNITS)
  expect(requests()).toBe(before)
  skippedMs += 10 * 60_000
  endpointClock.skip(10 * 60_000)
  for (const rpc of rpcs) rpc.rule(() => undefined)
  expect(await ask()).toBe(UNITS)
  expect(requests()).toBeGreaterThan(before)
  expect(await stored()).toEqual(['1002 state 2'])
})

test('a price from a single endpoint is not used while endpoints contradict each other', async () => {
  await keptOfOne(UNITS, 'state')
  rpcs[0].rule(tenfold)
  await expect(over(2)()).rejects.toMatchObject({ reason: 'disputed' })
  expect(await stored()).toEqual(['1002 state 1'])
})

test.each([
  ['the state', 'state', 'the state', () => undefined, '1002 state 2'],
  ['the state', 'state', 'rounds alone', pruned, undefined],
  ['rounds', 'round', 'the state', () => undefined, '1002 state 2'],
  ['rounds', 'round', 'rounds alone', pruned, '1002 round 2'],
] as const)(
  'a false price of one endpoint, from %s (%s), once two endpoints have %s',
  async (_, evidence, __, rule, replaced) => {
    await keptOfOne(7n, evidence)
    for (const rpc of rpcs) rpc.rule(rule)
    // Rounds never refute a price from state: a later block may have had the same second.
    expect(await over(2)()).toBe(replaced === undefined ? 7n : UNITS)
    expect(await stored()).toEqual([replaced ?? '7 state 1'])
  },
)

test('two endpoints without a price delete a price from a single endpoint', async () => {
  await keptOfOne(UNITS, 'state')
  await moveStored(stale)
  expect(await over(2)(true, stale)).toBe('its price feed is stale')
  expect(await stored()).toEqual([])
})

test('one endpoint without a price does not delete a price from a single endpoint', async () => {
  rpcs[1].rule(dead)
  await keptOfOne(UNITS, 'state')
  await moveStored(stale)
  await expect(over(2)(true, stale)).rejects.toMatchObject({ reason: 'disputed' })
  expect(await stored()).toEqual(['1002 state 1'])
})

test('endpoints without state and rounds do not delete a price from a single endpoint', async () => {
  await keptOfOne(UNITS, 'state')
  await moveStored(early)
  for (const rpc of rpcs) rpc.rule(pruned)
  expect(await over(2)(true, early)).toBe(UNITS)
  expect(await stored()).toEqual(['1002 state 1'])
})

test('one endpoint that repeats a price changes nothing, and the same units at another scale are another price', async () => {
  rpcs[1].rule(dead)
  await keptOfOne(UNITS, 'state')
  expect(await over(2)()).toBe(UNITS)
  expect(await stored()).toEqual(['1002 state 1'])
  await database.db.run('update price_at set scale = scale + 1', [])
  await expect(over(2)()).rejects.toMatchObject({ reason: 'disputed' })
})

test('one endpoint with another price decides nothing, whatever the earlier evidence', async () => {
  rpcs[1].rule(dead)
  for (const evidence of ['state', 'round'] as const) {
    await database.db.run('delete from price_at', [])
    await keptOfOne(7n, evidence)
    await expect(over(2)()).rejects.toThrow(/an endpoint returned another one before \(second witness\)$/)
    expect(await stored()).toEqual([`7 ${evidence} 1`])
  }
})

test('at most 24 blocks with prices from a single endpoint are read again per request', async () => {
  await pricesOver(1)([TOKEN], later)
  const ask = pricesOver(2)
  await ask([TOKEN], later)
  const agreed = async () => (await stored()).filter((said) => said === '1003 state 2').length
  expect(await agreed()).toBe(24)
  await ask([TOKEN], later)
  expect(await agreed()).toBe(25)
})

test('an endpoint that confirms one price of a block but not another is not read again for ten minutes', async () => {
  rpcs[1].rule(pruned)
  const ask = pricesOver(2)
  await ask([TOKEN, STABLE], [block])
  // Its rounds confirm the price of the feed.
  expect((await stored()).toSorted()).toEqual(['1 state 1', '1002 state 2'])
  const requests = () => rpcs[0].seen.length + rpcs[1].seen.length
  const before = requests()
  await ask([TOKEN, STABLE], [block])
  expect(requests()).toBe(before)
})

/** Prefetches prices of these blocks. */
async function ahead({ client, history }: ReturnType<typeof readerOver>, at: readonly PriceBlock[]): Promise<void> {
  const prices = history.createPrefetcher(client, { source: { kind: 'chain' }, tokens: [TOKEN, STABLE] })
  for (const each of at) prices.start(each, never)
  await prices.finish(never)
}

test('prefetched prices equal those of a normal read, and neither prices nor missing ones are read again', async () => {
  const at = [block, stale, ...later.slice(0, 9)]
  for (const [endpoints, rules] of [
    [1, [() => undefined]],
    [2, [() => undefined, () => undefined]],
    [2, [pruned, () => undefined]],
  ] as const) {
    for (const [index, rule] of rules.entries()) rpcs[index]?.rule(rule)
    await database.db.run('delete from price_at', [])
    const expected = await pricesOver(endpoints)([TOKEN, STABLE], at)
    const rows = await stored()
    await database.db.run('delete from price_at', [])
    const reader = readerOver(endpoints)
    await ahead(reader, at)
    expect([endpoints, (await stored()).toSorted()]).toEqual([endpoints, rows.toSorted()])
    for (const rpc of rpcs) rpc.reset()
    expect(await pricesOver(endpoints, reader)([TOKEN, STABLE], at)).toEqual(expected)
    expect(rpcs.flatMap(({ seen }) => seen)).toEqual([])
  }
})

test('a prefetch that fails or is contradicted stores nothing, and the later request reports it', async () => {
  for (const rpc of rpcs) rpc.rule(dead)
  const silent = readerOver(2)
  await ahead(silent, [block])
  expect(await stored()).toEqual([])
  rpcs[0].rule(tenfold)
  rpcs[1].rule(pruned)
  const lying = readerOver(2)
  await ahead(lying, [block])
  expect(await stored()).toEqual([])
  await expect(pricesOver(2, lying)([TOKEN], [block])).rejects.toMatchObject({ reason: 'disputed' })
})

test('prefetched prices at many blocks are compared with the rounds of their feeds in one request', async () => {
  const reader = readerOver(1)
  await reader.client.read(async () => {}, { work: never })
  for (const rpc of rpcs) rpc.reset()
  await ahead(reader, later.slice(0, 9))
  expect(rpcs[0].seen.length).toBe(10)
})
