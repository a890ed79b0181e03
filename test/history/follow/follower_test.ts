import { expect, test } from 'bun:test'
import { type Hex, numberToHex } from 'viem'
import type { BackgroundEndpoint, ChainClient } from '../../../src/chain/rpc/client.ts'
import type { Database } from '../../../src/db/database.ts'
import { createFollower, type Follower } from '../../../src/history/follow/follower.ts'
import { createLearnedSource } from '../../../src/history/logs/reader.ts'
import { createLogSource } from '../../../src/history/logs/source.ts'
import type { StreamPlace } from '../../../src/history/stream.ts'
import { pause, untilAborted } from '../../../src/lib/async/abort.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { EMITTER, walletOf } from '../scene.ts'
import { hashOf } from '../simulation/chain.ts'
import { simulateStore } from '../simulation/store.ts'

const never = new AbortController().signal
const CHAIN_ID = 31_337
const PLACE = { chainId: CHAIN_ID, contract: EMITTER, startBlock: 1 }

interface AskedLogs {
  readonly fromBlock: number
  readonly toBlock: number
  /** Undefined: everybody was asked for. */
  readonly wallets: number | undefined
}

/** An endpoint of a long chain on which nothing happens, which takes ranges of at most `cap` blocks. */
function quietEndpoint(cap: number): { readonly endpoint: BackgroundEndpoint; readonly answered: AskedLogs[] } {
  const answered: AskedLogs[] = []
  const endpoint: BackgroundEndpoint = {
    ...{ index: 0, usable: true },
    async request({ method, params, parse, refusal }) {
      if (method === 'eth_getBlockByNumber') return parse(headerOf(Number(params[0])))
      const { fromBlock, toBlock, topics } = params[0] as FilterJson
      const asked = { fromBlock: Number(fromBlock), toBlock: Number(toBlock) }
      if (asked.toBlock - asked.fromBlock + 1 > cap) {
        const words = `block range is too wide (maximum ${cap})`
        throw refusal?.({ status: 200, code: -32603, words, retryAfterMs: undefined }) ?? new Error(words)
      }
      answered.push({ ...asked, wallets: topics.length < 2 ? undefined : [topics[1]].flat().length })
      return parse([])
    },
  }
  return { endpoint, answered }
}

interface FilterJson {
  readonly fromBlock: Hex
  readonly toBlock: Hex
  readonly topics: readonly (Hex | readonly Hex[])[]
}

function headerOf(number: number): object {
  return { number: numberToHex(number), timestamp: '0x1', hash: hashOf(number), parentHash: hashOf(number - 1) }
}

function follow(endpoint: BackgroundEndpoint): Follower<StreamPlace> {
  const { coverage, stream } = simulateStore(() => 0).open('test', () => false)
  return createFollower({
    ...{ stream, place: PLACE, coverage, clock: systemClock, sleep: pause, log: silentLog },
    client: { chain: { id: CHAIN_ID, name: 'Quiet' } } as unknown as ChainClient,
    sources: [createLearnedSource({ source: createLogSource(endpoint, CHAIN_ID), clock: systemClock, sleep: pause })],
    ...{ db: {} as Database, onStored: () => {}, onHealed: () => {} },
  })
}

function complete(follower: Follower<StreamPlace>, blocks: number, subject: Hex, signal = never): Promise<void> {
  return follower.complete({ subject, fromBlock: 1, final: { number: blocks, hash: hashOf(blocks) } }, PLACE, signal)
}

test('wallets that wait together share requests, at most 200 in one', async () => {
  const { endpoint, answered } = quietEndpoint(1_000_000)
  const follower = follow(endpoint)
  await Promise.all(Array.from({ length: 450 }, (_, index) => complete(follower, 50_000, walletOf(index))))
  const sizes = answered.map(({ wallets }) => wallets ?? 0)
  expect(Math.max(...sizes)).toBe(200)
  // All of them, each range read twice.
  const asked = answered.reduce(
    (sum, { wallets = 0, fromBlock, toBlock }) => sum + wallets * (toBlock - fromBlock + 1),
    0,
  )
  expect(asked).toBe(2 * 450 * 50_000)
  await follower.close()
})

test('one scan serves all wallets whose own histories would take too many requests', async () => {
  const { endpoint, answered } = quietEndpoint(1_000)
  const follower = follow(endpoint)
  // What the endpoint takes is learned from its refusal of a longer range.
  await complete(follower, 2_000, walletOf(0))
  answered.length = 0
  await Promise.all([1, 2, 3].map((number) => complete(follower, 65_000, walletOf(number))))
  expect(answered.filter(({ wallets }) => wallets !== undefined)).toEqual([])
  expect(answered.reduce((sum, { fromBlock, toBlock }) => sum + toBlock - fromBlock + 1, 0)).toBe(2 * 65_000)
  // The newest blocks come first.
  expect(answered[0]?.toBlock).toBe(65_000)
  answered.length = 0
  await complete(follower, 65_000, walletOf(4))
  expect(answered).toEqual([])
  await follower.close()
})

test('with ranges below 1,000 blocks the caller is told at once what to configure, and nothing is scanned', async () => {
  const { endpoint, answered } = quietEndpoint(999)
  const follower = follow(endpoint)
  await complete(follower, 2_000, walletOf(0))
  answered.length = 0
  const failure = await complete(follower, 64_000, walletOf(1)).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(UnavailableError)
  expect(failure).toMatchObject({
    message:
      'The history of chain 31337 (Quiet) needs an RPC endpoint that gives the logs of at least 1000 blocks a request, and the widest here gives 999: add one to RPC_URL_31337',
    retryAfterSec: 60,
  })
  expect(answered).toEqual([])
  await follower.close()
})

test('who waits for a turn behind others is told that nothing is done yet', async () => {
  const { endpoint } = quietEndpoint(1_000_000)
  const follower = follow({
    ...endpoint,
    request: (read, signal) =>
      read.method === 'eth_getLogs'
        ? untilAborted(new Promise<never>(() => {}), signal)
        : endpoint.request(read, signal),
  })
  // Each begins a task of its own, until as many run as may.
  const waiting: Promise<unknown>[] = []
  for (let number = 0; number < 12; number++) {
    waiting.push(complete(follower, 50_000 + number, walletOf(number), AbortSignal.timeout(200)).catch(() => {}))
    await Bun.sleep(1)
  }
  expect(follower.paceOf(walletOf(11))).toMatchObject({ percent: 0, blocks: 50_011, seconds: undefined })
  await Promise.all(waiting)
  await follower.close()
})
