import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { toHex } from 'viem'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import { createBlockFinder, NoBlockError } from '../../../../src/chain/past/block_at.ts'
import type { ChainClient, Endpoint } from '../../../../src/chain/rpc/client.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { caseCount } from '../../../support/cases.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import { createFixedClock, createHurriedClock, slowClock } from '../../../support/test_clock.ts'
import { type Feeds, feedsChain, startFeeds } from '../../finance/price/past/feeds.ts'

const GENESIS_SEC = 1_600_000_000
const BLOCK_SEC = 12
const NEWEST = 5_000_000
/** A time at which every block is final. */
const NOW_MS = (GENESIS_SEC + NEWEST * BLOCK_SEC + 30 * 86_400) * 1_000
const clock: Clock = createFixedClock(NOW_MS, 0)
const patient = createWork(new AbortController().signal)

/** A client of a chain with a block every twelve seconds, or at other times, which counts the headers that it reads. */
function startChain(secondOf = (height: number) => height * BLOCK_SEC, newest = NEWEST) {
  let headers = 0
  const request = async ({ params: [name], parse }: Parameters<Endpoint['request']>[0]): Promise<unknown> => {
    headers++
    const height = name === 'latest' ? newest : Number(name)
    const hex = (value: number) => `0x${value.toString(16)}`
    const hash = (value: number) => `0x${value.toString(16).padStart(64, '0')}`
    const header = { number: hex(height), timestamp: hex(GENESIS_SEC + secondOf(height)) }
    return parse({ ...header, hash: hash(height), parentHash: hash(Math.max(0, height - 1)) })
  }
  const endpoint = { index: 0, request, observeBlock: () => {} } as unknown as Endpoint
  const client = {
    clock: { sleep: () => new Promise<never>(() => {}) },
    chain: { id: 1, name: 'Chain', rpcUrls: ['one'], blockTimeMs: BLOCK_SEC * 1_000 },
    read: (attempt: (endpoint: Endpoint, work: Work) => Promise<unknown>) => attempt(endpoint, patient),
  } as unknown as ChainClient
  const finder = createBlockFinder(clock)
  const counted = async <T>(find: () => Promise<T>) => {
    const before = headers
    return { found: await find(), headers: headers - before }
  }
  return {
    /** One by one, and all together: undefined before the first block and after the newest. */
    oneByOne: (seconds: readonly number[]) =>
      counted(async () => {
        const heights: (number | undefined)[] = []
        for (const second of seconds) {
          const found = finder.findLastBlock(client, BigInt(GENESIS_SEC + second), patient)
          heights.push(await found.then(({ number }) => Number(number)).catch(whyNone))
        }
        return heights
      }),
    together: (seconds: readonly number[]) =>
      counted(async () => {
        const times = seconds.map((second) => BigInt(GENESIS_SEC + second))
        const found = await finder.findLastBlocks(client, times, patient)
        return found.map((each) => each && Number(each.number))
      }),
    async heightAt(second: number) {
      const before = headers
      const { number } = await finder.findByTime(client, BigInt(GENESIS_SEC + second), patient)
      return { number: Number(number), headers: headers - before }
    },
  }
}

function whyNone(error: unknown): undefined {
  if (!(error instanceof NoBlockError)) throw error
}

test('a search for several moments finds the same blocks as a search for each of them', async () => {
  let seed = 11
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  for (let turn = 0; turn < caseCount(100); turn++) {
    const gaps = Array.from({ length: 1 + Math.floor(random() * 400) }, () => Math.floor(random() ** 4 * 1_000))
    let now = 0
    const times = gaps.map((gap) => (now += gap))
    const last = times.at(-1) ?? 0
    const seconds = Array.from({ length: 1 + Math.floor(random() * 64) }, () => Math.floor(random() * (last + 20)) - 10)
    const expected = seconds.map((second) => {
      const height = times.findLastIndex((time) => time <= second)
      return height < 0 || height === times.length - 1 ? undefined : height
    })
    const chain = () => startChain((height) => times[height] ?? Number.NaN, times.length - 1)
    expect((await chain().oneByOne(seconds)).found).toEqual(expected)
    const { together } = chain()
    expect((await together(seconds)).found).toEqual(expected)
    // All moments with a block are cached.
    const has = seconds.filter((_, index) => expected[index] !== undefined)
    if (has.length > 0)
      expect(await together(has)).toEqual({ found: expected.filter((each) => each !== undefined), headers: 0 })
  }
})

test('a search for the midnights of two months reads about two headers each, and no header twice', async () => {
  const seconds = Array.from({ length: 64 }, (_, day) => (NEWEST - 100) * BLOCK_SEC - day * 86_400)
  const [each, all] = [startChain(), startChain()]
  const { found, headers } = await all.together(seconds)
  expect(found).toEqual((await each.oneByOne(seconds)).found)
  expect(headers).toBeLessThanOrEqual(2 * 64 + 6)
})

test('searches start from the blocks of earlier ones, however many there were', async () => {
  const { heightAt } = startChain()
  let seed = 7
  let forgotten = 0
  for (let turn = 0; turn < 2_500; turn++) {
    seed = (seed * 48_271) % 2_147_483_647
    const height = 1 + (seed % (NEWEST - 2))
    const found = await heightAt(height * BLOCK_SEC + 3)
    // Another second of the same block: both it and the next one are known.
    const again = await heightAt(height * BLOCK_SEC + 4)
    expect([found.number, again.number]).toEqual([height, height])
    if (again.headers > 0) forgotten++
  }
  // One of two thousand blocks makes room, and that may be one of these two.
  expect(forgotten).toBeLessThan(10)
})

describe('over two endpoints', () => {
  let feeds: Feeds
  let first: FaultyRpc
  let second: FaultyRpc
  let both: EvmClient
  let one: EvmClient
  /** The newest blocks, a minute apart, the last one last. */
  const blocks: { readonly number: bigint; readonly timestampSec: bigint }[] = []

  beforeAll(async () => {
    feeds = await startFeeds()
    ;[first, second] = await Promise.all([startFaultyRpc(feeds.rpcUrl), startFaultyRpc(feeds.rpcUrl)])
    const createClient = (urls: readonly string[]) =>
      createChainClient({
        chain: feedsChain(urls, { usdFeeds: {}, stablecoins: [] }),
        clock: createHurriedClock(),
        log: silentLog,
      })
    both = createClient([first.url, second.url])
    one = createClient([first.url])
    for (let block = 0; block < 6; block++) {
      await feeds.pass(60)
      blocks.push(await feeds.moment())
    }
  }, 60_000)
  beforeEach(() => {
    for (const rpc of [first, second]) rpc.rule(() => undefined)
  })
  afterAll(async () => {
    for (const client of [both, one]) client?.close()
    await Promise.all([first, second].map((rpc) => rpc?.stop()))
    await feeds?.stop()
  })

  const block = (index: number) => blocks.at(index) as { readonly number: bigint; readonly timestampSec: bigint }
  /** A finder whose clock is `afterSec` seconds after a moment. */
  const finderAfter = (timestampSec: bigint, seconds: number) =>
    createBlockFinder({ ...slowClock, now: () => (Number(timestampSec) + seconds) * 1_000 })

  test('a moment has two witnesses once it is a day old, and one before', async () => {
    const { number, timestampSec } = block(2)
    for (const [seconds, witnesses] of [
      [86_400, 1],
      [86_401, 2],
    ] as const) {
      const found = await finderAfter(timestampSec, seconds).findByTime(both, timestampSec, patient)
      expect({ number: found.number, witnesses: found.witnesses }).toEqual({ number, witnesses })
    }
  })

  test('the newest block is the last one before any moment that has come', async () => {
    const { number, timestampSec } = block(-1)
    for (const client of [one, both]) {
      const finder = finderAfter(timestampSec, 90_000)
      for (const second of [timestampSec, timestampSec + 60n]) {
        expect((await finder.findByTime(client, second, patient)).number).toBe(number)
      }
    }
    const now = finderAfter(timestampSec, 60)
    expect((await now.findByTime(one, timestampSec + 60n, patient)).number).toBe(number)
    await expect(now.findByTime(one, timestampSec + 61n, patient)).rejects.toBeInstanceOf(NoBlockError)
  })

  test('a height above the newest block is none to a caller who asks for it, and a lag where an endpoint reported it', async () => {
    const { number, timestampSec } = block(-1)
    for (const client of [one, both]) {
      const finder = finderAfter(timestampSec, 60)
      await expect(finder.findByNumber(client, number + 1n, patient)).rejects.toBeInstanceOf(NoBlockError)
      await expect(finder.findReportedBlock(client, number + 1n, patient)).rejects.toMatchObject({
        code: 'SERVICE_UNAVAILABLE',
        message: expect.stringContaining(`blocks up to ${number} only, ask again`),
      })
      expect((await finder.findReportedBlock(client, number, patient)).number).toBe(number)
    }
  })

  test('the newest block is that of its own second, even if the clock is behind it', async () => {
    const { number, timestampSec } = block(-1)
    expect((await finderAfter(timestampSec, -5).findByTime(one, timestampSec, patient)).number).toBe(number)
  })

  test('a block confirmed by one endpoint is cached for ten minutes, then both endpoints are asked', async () => {
    const { timestampSec } = block(2)
    let nowMs = 0
    const clock = createFixedClock(
      () => (Number(timestampSec) + 90_000) * 1_000,
      () => nowMs,
    )
    const finder = createBlockFinder(clock)
    const witnesses = async () => (await finder.findByTime(both, timestampSec, patient)).witnesses
    second.rule(() => ({ kind: 'http', status: 500, body: '' }))
    expect(await witnesses()).toBe(1)
    second.rule(() => undefined)
    nowMs = 599_999
    expect(await witnesses()).toBe(1)
    nowMs = 600_001
    expect(await witnesses()).toBe(2)
  })

  test('a block confirmed by one endpoint starts no search', async () => {
    const { number, timestampSec } = block(2)
    const finder = finderAfter(timestampSec, 90_000)
    const honest = await finderAfter(timestampSec, 90_000).findByTime(both, timestampSec, patient)
    const invented = toHex(1, { size: 32 })
    first.rule(({ method, params }) => {
      const isNext = params[0] === toHex(number + 1n)
      if (method !== 'eth_getBlockByNumber' || (params[0] !== toHex(number) && !isNext)) return undefined
      const name = isNext ? 'parentHash' : 'hash'
      return { kind: 'change', change: (header) => ({ ...(header as object), [name]: invented }) }
    })
    second.rule(() => ({ kind: 'http', status: 500, body: '' }))
    expect(await finder.findByTime(both, timestampSec, patient)).toMatchObject({ hash: invented, witnesses: 1 })
    for (const rpc of [first, second]) rpc.rule(() => undefined)
    // Another second of the same block.
    expect(await finder.findByTime(both, timestampSec + 1n, patient)).toMatchObject({ hash: honest.hash })
  })
})
