import { expect, test } from 'bun:test'
import type { BackgroundEndpoint } from '../../../../src/chain/rpc/client.ts'
import type { LendingEvent } from '../../../../src/family/lending/lending_event.ts'
import type { Stream } from '../../../../src/history/stream.ts'
import { IncompleteError } from '../../../../src/history/stream.ts'
import { UnavailableError, UpstreamError } from '../../../../src/lib/error.ts'
import { EMITTED, EMITTER, toWallet } from '../../../support/history/scene.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'
import { complete, type FilterJson, follow, quietEndpoint, simulateTime } from './quiet.ts'

/** Takes at most so many wallets, or kinds of events, in a filter. */
function takingTopics(most: number) {
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const limit = { most }
  const request: BackgroundEndpoint['request'] = (read, work) => {
    const { topics = [] } = read.params[0] as Partial<FilterJson>
    if (topics.every((each) => [each].flat().length <= limit.most)) return endpoint.request(read, work)
    throw read.mapRefusal?.({ status: 200, code: -32_000, words: 'exceed max topics', retryAfterMs: undefined })
  }
  return { endpoint: { ...endpoint, request }, answered, limit }
}

test('wallets are asked for in smaller groups if an endpoint takes fewer, and after ten minutes in large ones again', async () => {
  const { time, ...simulated } = simulateTime()
  time.nowMs = 600_000
  const { endpoint, answered, limit } = takingTopics(60)
  const follower = follow([endpoint], simulated)
  const largest = async (blocks: number) => {
    answered.length = 0
    await Promise.all(Array.from({ length: 200 }, (_, number) => complete(follower, blocks, toWallet(number))))
    return Math.max(...answered.map(({ wallets = 0 }) => wallets))
  }
  // Of 199 the half, in two groups, and of those the halves.
  expect(await largest(1_000)).toBe(50)
  limit.most = 1_000
  time.nowMs += 599_999
  expect(await largest(2_000)).toBe(50)
  time.nowMs += 1
  // The first who asks is alone.
  expect(await largest(3_000)).toBe(199)
  await follower.close()
})

test('a scan that is refused for its kinds of events makes no group of wallets smaller: who waits for it is told', async () => {
  const { endpoint, answered, limit } = takingTopics(10)
  const kinds = Array.from({ length: 12 }, (_, number) => toHash(number))
  const filters = EMITTED.filters
  const checks: Partial<Stream<LendingEvent>> = {
    filters: (place, subjects) =>
      subjects === null ? [{ addresses: [EMITTER], topics: [kinds] }] : filters(place, subjects),
  }
  const follower = follow([endpoint], { checks, ...simulateTime() })
  const ends = (blocks: number, wallets: readonly number[]) =>
    Promise.allSettled(wallets.map((number) => complete(follower, blocks, toWallet(number))))
  // The first who asks is alone; the others wait for the next scan together.
  const told = { status: 'rejected' as const, reason: expect.any(UnavailableError) }
  expect(await ends(100_000_000, [1, 2, 3])).toEqual([told, told, told])
  limit.most = 1_000
  const others = Array.from({ length: 200 }, (_, index) => 100 + index)
  await ends(1_000, others)
  expect(Math.max(...answered.map(({ wallets = 0 }) => wallets))).toBe(199)
  await follower.close()
})

test('another failure than that is told to all who wait at once, and makes no group smaller', async () => {
  let decoded = 0
  const fault = new TypeError('That is no function')
  const decode: Stream<LendingEvent>['decode'] = (_, __, { subjects }) => {
    // The first who asks is alone.
    if (subjects?.length !== 1 && decoded++ === 0) throw fault
    return { rows: [], unsettled: [] }
  }
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const follower = follow([endpoint], { checks: { decode }, ...simulateTime() })
  const ask = () =>
    Promise.allSettled(Array.from({ length: 200 }, (_, number) => complete(follower, 1_000, toWallet(number))))
  const failed = (await ask()).flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  expect([failed.length, new Set(failed), decoded]).toEqual([199, new Set([fault]), 1])
  answered.length = 0
  await ask()
  expect(Math.max(...answered.map(({ wallets = 0 }) => wallets))).toBe(199)
  await follower.close()
})

test('each turn of work stores something, even if an endpoint takes longer than that to say what is final', async () => {
  const { time, ...simulated } = simulateTime()
  /** Requests of the endpoints in order; `late` takes the time of a whole turn. */
  const asked: string[] = []
  const quiet = [0, 1, 2].map((index): BackgroundEndpoint => {
    const { endpoint } = quietEndpoint(100)
    const request: BackgroundEndpoint['request'] = async (read, work) => {
      if (read.method === 'eth_getBlockByNumber' && index === 2) {
        asked.push('late')
        time.nowMs += 10_000
        throw new UpstreamError('No answer in time')
      }
      if (read.method === 'eth_getLogs') asked.push('logs')
      return await endpoint.request(read, work)
    }
    return { ...endpoint, index, request }
  })
  const follower = follow(quiet, simulated)
  // How short ranges must be is learned first; then 2,000 blocks take a turn for each 400.
  for (const blocks of [200, 2_200]) expect(await complete(follower, blocks, toWallet(1))).toBe(true)
  await follower.close()
  const turns = asked.join(' ').split('late').slice(1)
  expect(turns.length).toBe(6)
  expect(turns.filter((turn) => !turn.includes('logs'))).toEqual([])
})

/** A check against the chain's state that fails at these blocks, the last of them from then on. */
function failingAt(...blocks: readonly (number | undefined)[]) {
  const seen = { checks: 0 }
  const verify: Stream<LendingEvent>['verify'] = async () => {
    const fromBlock = blocks[Math.min(seen.checks++, blocks.length - 1)]
    if (fromBlock !== undefined) throw new IncompleteError('state', { fromBlock, toBlock: 90 })
  }
  return { checks: { verify }, seen }
}

/** A history over so many endpoints that agree, checked so: how it ends, and which blocks were read after all of them. */
async function checked(endpoints: number, { checks, seen }: ReturnType<typeof failingAt>) {
  const all = Array.from({ length: endpoints }, () => quietEndpoint(1_000_000))
  const follower = follow(
    all.map(({ endpoint }, index) => ({ ...endpoint, index })),
    { checks, ...simulateTime() },
  )
  const end = await complete(follower, 100, toWallet(1)).catch((error: unknown) => error)
  await follower.close()
  const again = all.map(({ answered }) =>
    answered.map(({ fromBlock, toBlock }) => `${fromBlock}-${toBlock}`).filter((range) => range !== '1-100'),
  )
  return { end, again, checks: seen.checks }
}

test('blocks that a check against the state finds incomplete are read again, and the history is complete if it holds then', async () => {
  expect(await checked(1, failingAt(undefined))).toEqual({ end: false, again: [[]], checks: 1 })
  expect(await checked(2, failingAt(70, undefined))).toEqual({ end: true, again: [['70-90'], ['70-90']], checks: 2 })
})

test('a state check that fails again is reported as a bug if endpoints agree, else the history is incomplete', async () => {
  const wrong = await checked(2, failingAt(70))
  expect(wrong.end).toMatchObject({ reason: 'faulty' })
  expect(wrong).toMatchObject({ again: [['70-90'], ['70-90']], checks: 2 })
  for (const [endpoints, failing] of [
    [1, failingAt(70)],
    [2, failingAt(70, 80)],
  ] as const) {
    const { end, checks } = await checked(endpoints, failing)
    expect(end).toBeInstanceOf(UnavailableError)
    expect(end).not.toMatchObject({ reason: 'faulty' })
    expect(end).toMatchObject({ message: expect.stringContaining('is not complete. The check "state"') })
    expect(checks).toBe(2)
  }
})

test('a faulty state check is not repeated for a retried request', async () => {
  const { checks, seen } = failingAt(70)
  const endpoints = [0, 1].map((index) => ({ ...quietEndpoint(1_000_000).endpoint, index }))
  const follower = follow(endpoints, { checks, ...simulateTime() })
  for (const _ of [1, 2]) await expect(complete(follower, 100, toWallet(1))).rejects.toMatchObject({ reason: 'faulty' })
  await follower.close()
  expect(seen.checks).toBe(2)
})
