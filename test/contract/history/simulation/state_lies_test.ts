import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, getAddress } from 'viem'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { createPriceReader } from '../../../../src/finance/price/past/price_reader.ts'
import type { PriceBlock } from '../../../../src/finance/price/past/prices_at.ts'
import type { PriceSource } from '../../../../src/finance/price/past/sources.ts'
import { createMidnights, DAY_SEC } from '../../../../src/history/midnight.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { caseCount } from '../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { createRandom, type Random } from '../../../support/history/simulation/random.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'
import { type Feeds, feedsChain, startFeeds } from '../../finance/price/past/feeds.ts'

const LIES = Number(process.env['STATE_LIES'] ?? caseCount(300))
const HOUR_SEC = 3_600
const [PHASED, PLAIN, ASKED] = ['phased', 'plain', 'asked'].map((name) => getAddress(toWalletAddress(name))) as [
  Address,
  Address,
  Address,
]
const never = createWork(new AbortController().signal)

let feeds: Feeds
let database: TestDatabase
let phased: Address
let plain: Address
let market: { readonly provider: Address; readonly oracle: Address }
const blocks: PriceBlock[] = []
/** What the real endpoint answers, by what it is asked. */
const answers = new Map<string, Promise<{ readonly result?: unknown }>>()
/** What is so: prices by asker and block, and the block of each midnight. */
let prices: ReadonlyMap<string, readonly (readonly [bigint, number])[]>
let midnights: ReadonlyMap<number, string>

beforeAll(async () => {
  database = await testDatabase()
  feeds = await startFeeds()
  const [older, newer] = (await feeds.aggregators(2)) as [Address, Address]
  plain = newer
  await feeds.transmit(newer, 500n)
  await feeds.transmit(older, 1_000n)
  phased = await feeds.phased(older)
  const provider = await feeds.provider()
  const [first, oracle] = [
    await feeds.oracle({ assets: [ASKED], sources: [phased] }),
    await feeds.oracle({ assets: [ASKED], sources: [phased], unit: 10n ** 18n }),
  ]
  await feeds.setOracle(provider, first)
  market = { provider, oracle }
  for (let round = 1n; round <= 12n; round++) {
    await feeds.transmit(older, 1_000n + round)
    if (round === 6n) await feeds.confirm(phased, newer)
    if (round > 5n) await feeds.transmit(newer, 2_000n + round)
    if (round === 8n) await feeds.setOracle(provider, oracle)
    blocks.push(await feeds.moment())
    await feeds.pass(9 * HOUR_SEC)
  }
  await feeds.pass(2 * DAY_SEC)
  const honest = await ask([() => undefined])
  prices = new Map(await Promise.all(subjects().map(async (each) => [toKey(each), await honest.prices(each)] as const)))
  const days = dayNumbers()
  midnights = new Map(await Promise.all(days.map(async (day) => [day, await honest.midnight(day)] as const)))
  expect(new Set(midnights.values()).size).toBe(days.length)
}, 60_000)

afterAll(async () => {
  await feeds?.stop()
  await database?.close()
})

interface Subject {
  readonly asker: PriceSource
  readonly block: PriceBlock
}

function subjects(): Subject[] {
  const askers = [{ kind: 'chain' }, { kind: 'aave_market', ...market }] as const
  return askers.flatMap((asker) => blocks.map((block) => ({ asker, block })))
}

const toKey = ({ asker, block }: Subject) => `${asker.kind} ${block.number}`

function dayNumbers(): number[] {
  const toDay = (block: PriceBlock | undefined) => Number(block?.timestampSec ?? 0n) / DAY_SEC
  const [first, last] = [Math.ceil(toDay(blocks[0])), Math.floor(toDay(blocks.at(-1)))]
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

/** What an endpoint makes of an answer; undefined if it says what is so. */
type Lie = (request: { readonly method: string; readonly key: string }, result: unknown) => unknown

/** Prices and midnights over endpoints that tell these lies, each in its own memory. */
async function ask(lies: readonly Lie[]) {
  const urls = lies.map((_, index) => `http://endpoint-${index}.test/`)
  const fetchLied = async (url: string, init: RequestInit): Promise<Response> => {
    const { id, method, params } = JSON.parse(String(init.body)) as { id: number; method: string; params: unknown }
    const key = `${method} ${JSON.stringify(params)}`
    let answer = answers.get(key)
    if (answer === undefined) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { 'content-type': 'application/json' }
      answer = fetch(feeds.rpcUrl, { method: 'POST', headers, body }).then((response) => response.json()) as never
      answers.set(key, answer)
    }
    const told = await answer
    const lie = lies[urls.indexOf(url)]?.({ method, key }, told.result)
    return Response.json({ jsonrpc: '2.0', ...told, id, ...(lie === undefined ? {} : { result: lie }) })
  }
  const usdFeeds = {
    [PHASED]: { feed: phased, heartbeatSec: 24 * HOUR_SEC },
    [PLAIN]: { feed: plain, heartbeatSec: 240 * HOUR_SEC },
  }
  const chain = feedsChain(urls, { usdFeeds, stablecoins: [] })
  // All of it is final.
  const lateMs = Number((await feeds.moment()).timestampSec + BigInt(2 * DAY_SEC)) * 1_000
  const clock: Clock = { ...slowClock, now: () => lateMs }
  const client = createChainClient({
    chain,
    clock: createHurriedClock(),
    log: silentLog,
    fetch: fetchLied as typeof fetch,
  })
  const history = createPriceReader({ db: database.db, clock })
  const found = createMidnights({ db: database.db, clock, serverTime: async () => lateMs / 1_000 })
  return {
    async prices({ asker, block }: Subject) {
      const tokens = asker.kind === 'chain' ? [PHASED, PLAIN] : [ASKED]
      const wanted = tokens.map((token) => ({ token, block, isFinal: true }))
      const outcomes = await history.pricesAt(client, { source: asker, requests: wanted }, never)
      return outcomes.map((each) =>
        each.kind === 'price' ? ([each.price.units, each.price.scale] as const) : ([0n, 0] as const),
      )
    },
    midnight: async (day: number) => (await found.findBlock(client, day, never)).hash,
    close: () => client.close(),
  }
}

/** A lie about one kind of answer, the same whenever it is asked for. */
function pickLie(random: Random): Lie {
  const about = random.pick(['eth_call', 'eth_getBlockByNumber'])
  const [word, factor, digit] = [random.below(64), random.pick([2n, 10n, 140_000n, 0n]), random.below(4_000)]
  const isTall = random.chance(0.5)
  const member = random.pick(['timestamp', 'hash', 'parentHash', 'number', 'timestamp'])
  const height = `0x${(1 + random.below(Number(blocks.at(-1)?.number ?? 1n))).toString(16)}`
  return ({ method, key }, result) => {
    if (method !== about) return undefined
    if (method === 'eth_call') return changedBytes(String(result), { word, factor, digit, isTall })
    if (!key.includes(`"${height}"`) && !(isTall && key.includes('latest'))) return undefined
    const header = result as Readonly<Record<string, string>>
    const value = BigInt(header[member] ?? '0x0')
    const changed = member.endsWith('ash') ? value ^ 0xffn : value + BigInt(word * 1_000 - 30_000)
    const digits = (changed < 0n ? 0n : changed).toString(16)
    return { ...header, [member]: `0x${member.endsWith('ash') ? digits.padStart(64, '0') : digits}` }
  }
}

/** One of the numbers in the answer times a factor, or one digit of it another one. */
function changedBytes(
  result: string,
  { word, factor, digit, isTall }: { word: number; factor: bigint; digit: number; isTall: boolean },
): string {
  const numbers = [...result.matchAll(/0{40}[0-9a-f]{24}/g)]
  const chosen = numbers[word % Math.max(1, numbers.length)]
  if (isTall && chosen !== undefined) {
    const said = BigInt.asUintN(256, BigInt(`0x${chosen[0]}`) * factor + 1n)
      .toString(16)
      .padStart(64, '0')
    return result.slice(0, chosen.index) + said + result.slice(chosen.index + 64)
  }
  const at = 2 + (digit % (result.length - 2))
  return `${result.slice(0, at)}${result[at] === '0' ? '1' : '0'}${result.slice(at + 1)}`
}

const count = { healed: 0, refused: 0 }

async function isRefused<T>(asked: Promise<T>, wanted: T): Promise<void> {
  try {
    expect<unknown>(await asked).toEqual(wanted)
    count.healed++
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error
    expect(error.message).toMatch(/second witness|block time|^Cannot read chain/)
    count.refused++
  }
}

test(`of ${LIES} lies of one endpoint of two or three about feeds, oracles and headers none is answered or kept`, async () => {
  const truths = [...prices.values()].flat().map(([units, scale]) => `${units} ${scale}`)
  for (let seed = 1; seed <= LIES; seed++) {
    const random = createRandom(seed)
    const endpoints = 2 + random.below(2)
    const liar = random.below(endpoints)
    const lie = pickLie(random)
    const over = await ask(Array.from({ length: endpoints }, (_, index) => (index === liar ? lie : () => undefined)))
    const subject = random.pick(subjects())
    const day = random.pick(dayNumbers())
    await database.db.run('delete from price_at', [])
    await database.db.run('delete from midnight', [])
    try {
      await Promise.all([
        isRefused(over.prices(subject), prices.get(toKey(subject)) ?? []),
        isRefused(over.midnight(day), midnights.get(day) ?? ''),
      ])
      const rows = await database.db.run<{ said: string }>(
        `select units::text || ' ' || scale as said from price_at union all select '0x' || encode(hash, 'hex') from midnight`,
        [],
      )
      const known = new Set<string>([...truths, midnights.get(day) ?? ''])
      expect(rows.filter(({ said }) => !known.has(said))).toEqual([])
    } catch (cause) {
      throw new Error(`Seed ${seed} failed: ${cause instanceof Error ? cause.message : cause}`, { cause })
    } finally {
      over.close()
    }
  }
  // Three endpoints heal, two refuse; and many lies concern state that is never read.
  expect(count.healed).toBeGreaterThan(LIES / 2)
  expect(count.refused).toBeGreaterThan(LIES / 50)
}, 600_000)
