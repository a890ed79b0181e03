import { expect, test } from 'bun:test'
import { numberToHex } from 'viem'
import type { Chain } from '../../../../src/chain/chain.ts'
import type { BackgroundEndpoint } from '../../../../src/chain/rpc/client.ts'
import { EndpointError } from '../../../../src/chain/rpc/error.ts'
import type { LendingEvent } from '../../../../src/family/lending/lending_event.ts'
import { createFollowEntry } from '../../../../src/history/follow/entry.ts'
import { createRecentFailures } from '../../../../src/history/follow/failure.ts'
import type { HistoryLog, Stream } from '../../../../src/history/stream.ts'
import { HistoryUnavailableError, IncompleteError } from '../../../../src/history/stream.ts'
import { UnavailableError, UpstreamError } from '../../../../src/lib/error.ts'
import { EMITTER, toTarget, toWallet } from '../../../support/history/scene.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'
import { complete, follow, never, PLACE, quietEndpoint, simulateTime } from './quiet.ts'

/** A check of a global history that always fails at the same block. */
const WRONG_INDEX: Partial<Stream<LendingEvent>> = {
  checkContinuity() {
    throw new IncompleteError('index', { fromBlock: 7, toBlock: 9 })
  },
}

/** Endpoints that agree, and accept ranges so short that one global scan serves all requests. */
function agreeing(count: number) {
  const endpoints = Array.from({ length: count }, () => quietEndpoint(1_000))
  return {
    endpoints: endpoints.map(({ endpoint }, index) => ({ ...endpoint, index })),
    asked: () => endpoints.reduce((sum, { answered }) => sum + answered.length, 0),
  }
}

function recorded() {
  const records: Record<string, unknown>[] = []
  const note = (record: Record<string, unknown>) => records.push(record)
  return { records, log: { debug: note, info: note, warn: note, error: note } }
}

test('after a failure the work pauses for a second, twice as long after each further one, up to 20 seconds', () => {
  const { log } = recorded()
  const { clock } = simulateTime()
  const chain = { id: 1, name: 'Test' } as Chain
  const failures = createRecentFailures({ chain, stream: 'emitted', target: toTarget(1), log, clock })
  const [one, other] = [0, 1].map((number) => createFollowEntry(toWallet(number), { fromBlock: 1, toBlock: 9 }, clock))
  if (one === undefined || other === undefined) throw new Error('Cannot test without histories')
  const fail = () => failures.record(new UpstreamError('No answer'), [one, other], false)
  expect(Array.from({ length: 7 }, fail)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 20_000, 20_000])
  // Of those that are read together, the one that failed most often says how long.
  failures.clear([other], false)
  expect(fail()).toBe(20_000)
  failures.clear([one, other], false)
  expect(fail()).toBe(1_000)
})

test.each<[string, BackgroundEndpoint['request']]>([
  ['fails', () => Promise.reject(new EndpointError('failed', 'The endpoint failed'))],
  ['refuses all ranges', ({ mapRefusal }) => Promise.reject(mapRefusal?.(REFUSAL))],
  ['gives logs of other blocks', async ({ parse }) => parse([createLog(999_999)])],
  ['says nothing in time', () => Promise.reject(new EndpointError('late', 'The endpoint is late'))],
])('after an hour in which the only endpoint %s, an honest answer is back within 25 seconds', async (_, lie) => {
  const { clock, time } = simulateTime()
  const { endpoint } = quietEndpoint(1_000_000)
  let isHonest = false
  const request: BackgroundEndpoint['request'] = (read, work) =>
    isHonest || read.method !== 'eth_getLogs' ? endpoint.request(read, work) : lie(read, work)
  const follower = follow([{ ...endpoint, request }], { clock })
  const ask = () => {
    const left = new AbortController()
    const leaves = clock.sleep(2_000).then(() => left.abort())
    return Promise.all([complete(follower, 65_000, toWallet(1), left.signal).catch(() => undefined), leaves])
  }
  while (time.nowMs < 3_600_000) expect((await ask())[0]).toBeUndefined()
  isHonest = true
  const honestMs = time.nowMs
  while ((await ask())[0] === undefined) expect(time.nowMs - honestMs).toBeLessThan(25_000)
  await follower.close()
})

const REFUSAL = { status: 200, code: -32_601, words: 'the method eth_getLogs does not exist', retryAfterMs: undefined }

function createLog(block: number): object {
  return {
    address: EMITTER,
    blockHash: toHash(block),
    blockNumber: numberToHex(block),
    data: '0x',
    logIndex: '0x0',
    removed: false,
    topics: [toHash(1)],
    transactionHash: toHash(2),
    transactionIndex: '0x0',
  }
}

const catchFailure = (asked: Promise<unknown>) => asked.catch((error: unknown) => error)

test('a check that fails twice over agreeing endpoints is logged and reported as a bug, and not read for again', async () => {
  const { clock, time } = simulateTime()
  const { records, log } = recorded()
  const { endpoints, asked } = agreeing(2)
  const follower = follow(endpoints, { clock, log, checks: WRONG_INDEX })
  // What the endpoints take is learned from their refusals of longer ranges.
  await complete(follower, 2_000, toWallet(0))
  const failure = await catchFailure(complete(follower, 65_000, toWallet(1)))
  expect(failure).toMatchObject({ reason: 'faulty' })
  expect(failure).toMatchObject({
    message:
      'The history of chain 31337 (Quiet) cannot be completed. The check "index" fails in blocks 7 to 9 although ' +
      'different endpoints gave the same logs: they may be wrong alike, so add another to RPC_URL_31337; if that does not help, it is a bug to report',
    retryAfterSec: 20,
  })
  expect(records).toEqual([
    {
      msg: 'A history check failed twice with agreeing endpoints: they are wrong alike, or this is a bug',
      chainId: 31_337,
      stream: 'emitted',
      contract: EMITTER,
      check: 'index',
      fromBlock: 7,
      toBlock: 9,
    },
  ])
  const before = asked()
  expect(await catchFailure(complete(follower, 65_001, toWallet(2)))).toEqual(failure)
  expect(asked()).toBe(before)
  // A wallet whose own blocks are few is read without a scan.
  await complete(follower, 2_000, toWallet(3))
  time.nowMs += 20_000
  const later = asked()
  const unrestrictedSubject = {
    subject: null,
    fromBlock: 1,
    final: { number: 65_002, hash: toHash(65_002), epoch: 0 },
    requesters: new Set<string>(),
  }
  expect(await catchFailure(follower.complete(unrestrictedSubject, PLACE, never.signal))).toEqual(failure)
  expect(asked()).toBeGreaterThan(later)
  await follower.close()
})

test('over a single endpoint a failed check leaves the history incomplete, and waiting requests fail with its name', async () => {
  const { records, log } = recorded()
  const { endpoints } = agreeing(1)
  const follower = follow(endpoints, { log, checks: WRONG_INDEX })
  await complete(follower, 2_000, toWallet(0))
  const failure = await catchFailure(complete(follower, 65_000, toWallet(1)))
  expect(failure).toBeInstanceOf(UnavailableError)
  expect(failure).not.toMatchObject({ reason: 'faulty' })
  const message =
    'The history of chain 31337 (Quiet) is not complete. The check "index" found that logs are missing in blocks 7 to 9'
  expect(failure).toMatchObject({ message })
  expect(records).toMatchObject([{ msg: 'Logs are missing at every endpoint', check: 'index' }])
  await catchFailure(complete(follower, 65_000, toWallet(2)))
  expect(follower.findFailure(toWallet(2))).toMatchObject({ message })
  await follower.close()
})

test('a wallet whose logs meet a wrong check does not keep those it was read with from theirs', async () => {
  const wrong = toWallet(7)
  const decode = (
    _: unknown,
    __: readonly HistoryLog[],
    { subjects }: { readonly subjects: readonly string[] | null },
  ) => {
    if (subjects?.includes(wrong) === true) throw new IncompleteError('pairing', { fromBlock: 3, toBlock: 3 })
    return { rows: [], unsettled: [] }
  }
  const { clock } = simulateTime()
  const { endpoints } = agreeing(2)
  const follower = follow(endpoints, { clock, checks: { decode } })
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, (_, number) => catchFailure(complete(follower, 2_000, toWallet(number)))),
  )
  expect(outcomes.map((outcome) => outcome instanceof HistoryUnavailableError)).toEqual(
    outcomes.map((_, number) => toWallet(number) === wrong),
  )
  expect(outcomes.filter((outcome) => typeof outcome === 'boolean')).toHaveLength(11)
  await follower.close()
})
