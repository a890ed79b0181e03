import { expect, test } from 'bun:test'
import type { BackgroundEndpoint } from '../../../../src/chain/rpc/client.ts'
import { EndpointError } from '../../../../src/chain/rpc/error.ts'
import { untilAborted } from '../../../../src/lib/async/abort.ts'
import { AbortedError, UnavailableError } from '../../../../src/lib/error.ts'
import { toWallet } from '../../../support/history/scene.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'
import { settle } from '../../../support/test_clock.ts'
import { complete, type FilterJson, follow, never, PLACE, quietEndpoint, simulateTime } from './quiet.ts'

/** Lets the follower work until `holds()`; the test's time limit ends it otherwise. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await settle(1)
}

test.each([401, 450])('%d wallets that wait together share requests, at most 200 in one', async (wallets) => {
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const { time, ...simulated } = simulateTime()
  const follower = follow([endpoint], simulated)
  await Promise.all(Array.from({ length: wallets }, (_, index) => complete(follower, 50_000, toWallet(index))))
  const sizes = answered.map(({ wallets: size }) => size ?? 0)
  expect(Math.max(...sizes)).toBe(200)
  // All of them, each range read twice.
  const asked = answered.reduce(
    (sum, { wallets: size = 0, fromBlock, toBlock }) => sum + size * (toBlock - fromBlock + 1),
    0,
  )
  expect(asked).toBe(2 * wallets * 50_000)
  // Nothing waits as for the work of another process.
  expect(time.nowMs).toBe(0)
  await follower.close()
})

test('one scan serves all wallets whose own histories would take too many requests', async () => {
  const { endpoint, answered } = quietEndpoint(1_000)
  const follower = follow([endpoint])
  // What the endpoint takes is learned from its refusal of a longer range.
  await complete(follower, 2_000, toWallet(0))
  answered.length = 0
  await Promise.all([1, 2, 3].map((number) => complete(follower, 65_000, toWallet(number))))
  expect(answered.filter(({ wallets }) => wallets !== undefined)).toEqual([])
  expect(answered.reduce((sum, { fromBlock, toBlock }) => sum + toBlock - fromBlock + 1, 0)).toBe(2 * 65_000)
  // The newest blocks come first.
  expect(answered[0]?.toBlock).toBe(65_000)
  answered.length = 0
  await complete(follower, 65_000, toWallet(4))
  expect(answered).toEqual([])
  // From then on new blocks are read for all subjects.
  await complete(follower, 65_100, toWallet(5))
  expect(answered.map(({ fromBlock, wallets }) => [fromBlock, wallets])).toEqual([
    [65_001, undefined],
    [65_001, undefined],
  ])
  await follower.close()
})

test('a scan goes from the oldest block that any of those lacks who wait for it to the newest', async () => {
  const { endpoint } = quietEndpoint(1_000)
  /** Blocks left of the scan, at each request. */
  const left: (number | undefined)[] = []
  const request: BackgroundEndpoint['request'] = (read, work) => {
    if (read.method === 'eth_getLogs') left.push(follower.scanBlocksLeft)
    return endpoint.request(read, work)
  }
  const follower = follow([{ ...endpoint, request }])
  await complete(follower, 2_000, toWallet(0))
  expect(new Set(left)).toEqual(new Set([undefined]))
  const ask = (number: number, fromBlock: number, toBlock: number) => {
    const final = { number: toBlock, hash: toHash(toBlock), epoch: 0 }
    return follower.complete(
      { subject: toWallet(number), fromBlock, final, requesters: new Set() },
      PLACE,
      never.signal,
    )
  }
  // The first who asks is alone; the others wait for the next scan together.
  await Promise.all([ask(1, 5_001, 70_000), ask(2, 1, 70_000), ask(3, 3_001, 75_000)])
  expect(left.find((blocks) => blocks !== undefined)).toBe(65_000)
  expect(left).toContain(10_000)
  expect(follower.scanBlocksLeft).toBe(undefined)
  await follower.close()
})

test('with ranges below 1,000 blocks the caller is told at once what to configure, and nothing is scanned', async () => {
  const { endpoint, answered } = quietEndpoint(999)
  const follower = follow([endpoint])
  await complete(follower, 2_000, toWallet(0))
  answered.length = 0
  const failure = await complete(follower, 64_000, toWallet(1)).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(UnavailableError)
  expect(failure).toMatchObject({
    message:
      'The history of chain 31337 (Quiet) needs an RPC endpoint that serves logs of at least 1000 blocks a request, and the widest here serves 999: add one to RPC_URL_31337',
    retryAfterSec: 60,
  })
  expect(answered).toEqual([])
  await follower.close()
})

test('who waits for a turn behind others is told that nothing is done yet', async () => {
  const { endpoint } = quietEndpoint(1_000_000)
  const follower = follow([
    {
      ...endpoint,
      request: (read, work) =>
        read.method === 'eth_getLogs'
          ? untilAborted(new Promise<never>(() => {}), work.signal)
          : endpoint.request(read, work),
    },
  ])
  // Each begins a task of its own, until as many run as may.
  const leaving = new AbortController()
  const waiting: Promise<unknown>[] = []
  for (let number = 0; number < 12; number++) {
    waiting.push(complete(follower, 50_000 + number, toWallet(number), leaving.signal).catch(() => {}))
    await settle()
  }
  expect(follower.getProgress(toWallet(11))).toMatchObject({ percent: 0, blocks: 50_011, seconds: undefined })
  leaving.abort()
  await Promise.all(waiting)
  await follower.close()
})

/** Never answers for logs, so that each request ends by its time limit, which passes at once here. */
function stalledEndpoint(time: { nowMs: number }): { readonly endpoint: BackgroundEndpoint; readonly asked: string[] } {
  const { endpoint } = quietEndpoint(1_000_000)
  const asked: string[] = []
  const stalled: BackgroundEndpoint = {
    ...endpoint,
    async request(read, work) {
      if (read.method !== 'eth_getLogs') return await endpoint.request(read, work)
      asked.push(read.method)
      const lateMs = time.nowMs + (read.timeoutMs ?? 0)
      await settle(1)
      time.nowMs = Math.max(time.nowMs, lateMs)
      throw new EndpointError('late', 'No answer in time')
    },
  }
  return { endpoint: stalled, asked }
}

test('of two endpoints one stalls: the other serves after four late answers, and alone only meanwhile', async () => {
  const { time, ...simulated } = simulateTime()
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const stalled = stalledEndpoint(time)
  const follower = follow([stalled.endpoint, { ...endpoint, index: 1 }], simulated)
  await complete(follower, 900_000, toWallet(1))
  // Ten seconds each, for the whole range and its halves, quarters and eighths.
  expect(time.nowMs).toBe(40_000)
  expect(answered.length).toBeGreaterThan(1)
  // A minute later it is asked again.
  stalled.asked.length = 0
  await complete(follower, 900_001, toWallet(2))
  expect(stalled.asked).toEqual([])
  time.nowMs += 60_000
  await complete(follower, 900_002, toWallet(3))
  expect(stalled.asked.length).toBeGreaterThan(0)
  await follower.close()
})

test('one that answers only ranges that are short enough is no stalled one', async () => {
  const { time, ...simulated } = simulateTime()
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const stalled = stalledEndpoint(time)
  const slow: BackgroundEndpoint = {
    ...endpoint,
    request(read, work) {
      const { fromBlock, toBlock } = (read.params[0] ?? {}) as Partial<FilterJson>
      const isSlow = Number(toBlock) - Number(fromBlock) + 1 > 200_000
      return (isSlow ? stalled.endpoint : endpoint).request(read, work)
    },
  }
  const follower = follow([slow], simulated)
  await complete(follower, 900_000, toWallet(1))
  // The whole range, its halves and its quarters were late.
  expect(time.nowMs).toBe(30_000)
  expect(Math.max(...answered.map(({ fromBlock, toBlock }) => toBlock - fromBlock + 1))).toBeLessThanOrEqual(200_000)
  await follower.close()
})

test('if the only endpoint stalls, the request fails, and the endpoint is tried again a minute later', async () => {
  const { time, ...simulated } = simulateTime()
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const stalled = stalledEndpoint(time)
  let isStalled = true
  const request: BackgroundEndpoint['request'] = (read, work) =>
    (isStalled ? stalled.endpoint : endpoint).request(read, work)
  const follower = follow([{ ...endpoint, request }], simulated)
  await expect(complete(follower, 900_000, toWallet(1))).rejects.toBeInstanceOf(UnavailableError)
  expect(answered).toEqual([])
  isStalled = false
  const stalledToMs = time.nowMs
  let isComplete = false
  while (!isComplete) {
    isComplete = await complete(follower, 900_000, toWallet(1)).then(
      () => true,
      () => false,
    )
    await settle(1)
  }
  expect(answered.length).toBeGreaterThan(1)
  // A minute, and at most one of the pauses that attempts make between them.
  expect(time.nowMs - stalledToMs).toBeLessThan(60_000 + 30_000)
  await follower.close()
})

test('work ends half a minute after the last who asked has left, and goes on if they come back before', async () => {
  const { time, ...simulated } = simulateTime()
  const { endpoint, answered } = quietEndpoint(1_000)
  let leaving = new AbortController()
  let isSlow = false
  const request: BackgroundEndpoint['request'] = async (read, work) => {
    // Eight at a time take a second.
    if (isSlow && read.method === 'eth_getLogs') {
      leaving.abort()
      time.nowMs += 1_000 / 8
      await settle(1)
    }
    return await endpoint.request(read, work)
  }
  const follower = follow([{ ...endpoint, request }], simulated)
  await complete(follower, 2_000, toWallet(0))
  isSlow = true
  const blocks = 10_000_000
  /** Asks, leaves with the first request, and waits until the work has ended. Returns the number of answers. */
  const askAndLeave = async () => {
    leaving = new AbortController()
    await expect(complete(follower, blocks, toWallet(1), leaving.signal)).rejects.toBeInstanceOf(AbortedError)
    await until(() => follower.getProgress(toWallet(1)) === undefined)
    return answered.length
  }
  answered.length = 0
  const once = await askAndLeave()
  // What is begun is finished: less than a minute in all, where the whole takes 40 minutes.
  expect(time.nowMs).toBeGreaterThan(30_000)
  expect(time.nowMs).toBeLessThan(60_000)
  expect(await askAndLeave()).toBeGreaterThan(once)
  await follower.close()
})

test.each([
  [30_000, 1],
  [30_001, 8_001],
] as const)('%d ms after the last request, long work is done down to block %d', async (passedMs, oldest) => {
  const { time, ...simulated } = simulateTime()
  const askedMs = 20_000
  time.nowMs = askedMs
  const { endpoint, answered } = quietEndpoint(1_000)
  const leaving = new AbortController()
  let isBegun = false
  const request: BackgroundEndpoint['request'] = async (read, work) => {
    if (isBegun && read.method === 'eth_getLogs') {
      leaving.abort()
      time.nowMs = askedMs + passedMs
    }
    return await endpoint.request(read, work)
  }
  const follower = follow([{ ...endpoint, request }], simulated)
  await complete(follower, 2_000, toWallet(0))
  answered.length = 0
  isBegun = true
  await expect(complete(follower, 20_000, toWallet(1), leaving.signal)).rejects.toBeInstanceOf(AbortedError)
  await until(() => follower.getProgress(toWallet(1)) === undefined)
  expect(Math.min(...answered.map(({ fromBlock }) => fromBlock))).toBe(oldest)
  await follower.close()
})

test('one asker gets four tasks at a time, also alone', async () => {
  const most = [0, 0]
  const endpoints = most.map((_, index): BackgroundEndpoint => {
    const { endpoint } = quietEndpoint(1_000_000)
    let running = 0
    const request: BackgroundEndpoint['request'] = async (read, work) => {
      if (read.method !== 'eth_getLogs') return await endpoint.request(read, work)
      most[index] = Math.max(most[index] ?? 0, ++running)
      await settle(1)
      running--
      return await endpoint.request(read, work)
    }
    return { ...endpoint, index, request }
  })
  const follower = follow(endpoints)
  await complete(follower, 2_000, toWallet(0))
  // Each lacks other blocks than the others, so that none share requests.
  await Promise.all(Array.from({ length: 12 }, (_, index) => complete(follower, 50_000 + index, toWallet(1 + index))))
  expect(most).toEqual([4, 4])
  await follower.close()
})

test('askers are served in turn: one who asks for hundreds of histories does not delay another’s only one', async () => {
  const { endpoint, answered } = quietEndpoint(10_000)
  const request: BackgroundEndpoint['request'] = async (read, work) => {
    await settle(1)
    return await endpoint.request(read, work)
  }
  const follower = follow([{ ...endpoint, request }])
  await complete(follower, 20_000, toWallet(0))
  answered.length = 0
  const ask = (number: number, asker: string) =>
    // Each lacks other blocks than the others, so that none share requests.
    follower.complete(
      {
        subject: toWallet(number),
        fromBlock: 1 + number,
        final: { number: 600_000, hash: toHash(600_000), epoch: 0 },
        requesters: new Set([asker]),
      },
      PLACE,
      never.signal,
    )
  for (let number = 1; number <= 300; number++) void ask(number, 'many').catch(() => {})
  await until(() => answered.length > 100)
  const before = answered.length
  await ask(1_000, 'one')
  const meanwhile = answered.length - before
  // 60 ranges, read twice, beside as many of the others; those would be 36,000.
  expect(meanwhile).toBeGreaterThanOrEqual(120)
  expect(meanwhile).toBeLessThan(600)
  await follower.close()
})

test('a caller whose endpoints were too narrow is served when one of them takes more, without a restart', async () => {
  const { time, ...simulated } = simulateTime()
  const narrow = quietEndpoint(10)
  const wide = quietEndpoint(1_000_000)
  let isNarrow = true
  const asked: number[] = []
  const request: BackgroundEndpoint['request'] = (read, work) => {
    if (read.method === 'eth_getLogs') asked.push(0)
    return (isNarrow ? narrow : wide).endpoint.request(read, work)
  }
  const follower = follow([{ ...narrow.endpoint, request }], simulated)
  const ask = () => complete(follower, 100_000, toWallet(1))
  // The first range is far too long; that is found out in a few requests, and not again.
  await expect(ask()).rejects.toThrow('the widest here serves 10')
  expect(asked.length).toBeLessThan(20)
  isNarrow = false
  asked.length = 0
  await expect(ask()).rejects.toThrow('the widest here serves 10')
  expect(asked).toEqual([])
  time.nowMs += 600_000
  await ask()
  await follower.close()
})
