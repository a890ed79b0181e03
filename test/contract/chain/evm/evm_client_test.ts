import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { blockAgeMaxSec } from '../../../../src/chain/block_age.ts'
import { callBundled } from '../../../../src/chain/call/bundle/bundle.ts'
import type { Chain } from '../../../../src/chain/chain.ts'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import { readLatestBlock } from '../../../../src/chain/evm/read_block.ts'
import { type Endpoint, type RevertError, RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import { parseQuantity } from '../../../../src/chain/rpc/value.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { AbortedError, UnavailableError } from '../../../../src/lib/error.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { type Anvil, startAnvil } from '../../../devnet/anvil.ts'
import { type Fault, type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import {
  createFixedClock,
  createSkippingClock,
  createTestClock,
  settle,
  type TestClock,
} from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

const never = createWork(new AbortController().signal)

/** Work for a requester. */
function asking(asker: string) {
  return { work: createWork(new AbortController().signal, { requesters: new Set([asker]) }) }
}

const SECRET = 'hunter2secret'

/** After so long an endpoint that failed repeatedly is probed again. */
const PROBE_MS = 1_000

/** Near the time of the devnet's blocks. */
const START_MS = Date.now()

let anvil: Anvil
let rpcs: readonly FaultyRpc[] = []
let clients: EvmClient[] = []
let lines: string[] = []
/** The default of `createClient`: no deadline passes, and pauses end at once. */
let skipping: ReturnType<typeof createSkippingClock>

beforeAll(async () => {
  anvil = await startAnvil()
  rpcs = await Promise.all([0, 1, 2].map(() => startFaultyRpc(anvil.rpcUrl)))
}, 60_000)
beforeEach(() => {
  lines = []
  skipping = createSkippingClock()
  skipping.time.nowMs = START_MS
  for (const rpc of rpcs) {
    rpc.rule(() => undefined)
    rpc.reset()
  }
})
afterEach(() => {
  for (const client of clients) client.close()
  clients = []
})
afterAll(async () => {
  await Promise.all(rpcs.map((rpc) => rpc.stop()))
  await anvil?.stop()
}, 60_000)

function createClient(endpoints: number, overrides: Partial<Chain> = {}, clock: Clock = skipping): EvmClient {
  const chain: Chain = {
    id: 1,
    name: 'Ethereum',
    rpcUrls: rpcs.slice(0, endpoints).map(({ url }) => `${url}v2/${SECRET}`),
    blockTimeMs: 12_000,
    reuseMs: 0,
    finality: { depth: 0 },
    ...overrides,
  }
  const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() })
  const client = createChainClient({ chain, clock, log })
  clients.push(client)
  return client
}

function blockNumber(endpoint: Endpoint, work: Work): Promise<bigint> {
  return endpoint.request({ method: 'eth_blockNumber', params: [], parse: parseQuantity }, work)
}

function rule(index: number, fault: Fault | undefined): void {
  rpcs[index]?.rule(() => fault)
}

function seen(index: number, method = 'eth_blockNumber'): number {
  return rpcs[index]?.seen.filter((request) => request.method === method).length ?? 0
}

/** A clock whose time the test moves, with pauses that end at once if `skipsPauses`. */
function startClock({ skipsPauses = false } = {}): TestClock {
  const clock = createTestClock({ nowMs: START_MS })
  return skipsPauses ? Object.assign(clock, { sleep: () => settle(1) }) : clock
}

/** Waits until an endpoint was asked so often, which then keeps the client waiting. */
function waitForRequests(index: number, count: number, method?: string): Promise<void> {
  return waitFor(`request ${count} to endpoint ${index + 1}`, () => seen(index, method) === count)
}

/** A fault that answers rightly once `open` is called. */
function createHold() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { fault: { kind: 'meanwhile', done: () => promise } satisfies Fault, open: resolve }
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    (value) => new Error(`It answered ${String(value)}`),
    (error: Error) => error,
  )
}

test('read() asks the first endpoint, and about its chain only once, at the same time', async () => {
  const client = createClient(3)
  // No request is answered before all have arrived.
  const hold = createHold()
  rule(0, hold.fault)
  const reading = Promise.all([1, 2, 3].map(() => client.read(blockNumber, { work: never })))
  await waitFor('all requests', () => rpcs[0]?.waiting() === 4)
  hold.open()
  expect(await reading).toEqual([0n, 0n, 0n])
  expect(rpcs[0]?.depth()).toBe(1)
  expect([seen(0), seen(0, 'eth_chainId'), seen(1), seen(2)]).toEqual([3, 1, 0, 0])
  const alone = createClient(1)
  for (const times of [1, 2]) {
    expect(await alone.read(blockNumber, { work: never })).toBe(0n)
    expect([seen(0), seen(0, 'eth_chainId')]).toEqual([3 + times, 2])
  }
})

test.each([
  ['null', { kind: 'result', result: null }],
  ['a negative quantity', { kind: 'result', result: '-0x10' }],
  ['no result', { kind: 'envelope', change: { result: undefined } }],
  ['another id', { kind: 'envelope', change: { id: 77 } }],
  ['HTML', { kind: 'http', status: 200, body: '<html>' }],
  ['a 500', { kind: 'http', status: 500, body: '' }],
  ['a 429', { kind: 'http', status: 429, body: '' }],
  ['a cut connection', { kind: 'cut' }],
  ['a redirect', { kind: 'http', status: 308, body: '', headers: { location: 'http://169.254.169.254/' } }],
  ['a refusal', { kind: 'error', error: { code: -32602, message: 'too many arguments' } }],
] as [string, Fault][])('read() moves on to the second endpoint at %s of the first', async (_, fault) => {
  const client = createClient(2)
  rule(0, fault)
  expect(await client.read(blockNumber, { work: never })).toBe(0n)
  expect([seen(0), seen(1)]).toEqual([1, 1])
})

test('read() gets its answer from the second endpoint if the first hangs, drips or floods', async () => {
  // Two fifths of the budget.
  for (const fault of [{ kind: 'hang' }, { kind: 'drip', ms: 100 }] as const) {
    const clock = startClock()
    const client = createClient(2, {}, clock)
    const asked = seen(0)
    rule(0, fault)
    const reading = client.read(blockNumber, { work: never })
    await waitForRequests(0, asked + 1)
    await clock.advance(1_000)
    expect(await reading).toBe(0n)
  }
  rule(0, { kind: 'flood', bytes: 50 * 1024 * 1024 })
  expect(await createClient(2).read(blockNumber, { work: never })).toBe(0n)
})

test('read() gives one call two fifths of its budget, so that a slow but working endpoint is not given up', async () => {
  for (const [passedMs, isAnswered] of [
    [199, true],
    [200, false],
  ] as const) {
    const clock = startClock()
    const client = createClient(1, {}, clock)
    rule(0, undefined)
    await client.read(blockNumber, { work: never })
    const hold = createHold()
    const asked = seen(0)
    rule(0, hold.fault)
    const reading = failure(client.read(blockNumber, { work: never, budgetMs: 500 }))
    await waitForRequests(0, asked + 1)
    await clock.advance(passedMs)
    if (isAnswered) hold.open()
    // A call that was given up is tried once more, after a pause, for as long as the budget allows.
    else await clock.advance(300)
    expect((await reading).message).toStartWith(isAnswered ? 'It answered 0' : 'Cannot read chain 1')
    hold.open()
  }
})

test('read() no longer waits for a dead first endpoint, and returns to it once it works again', async () => {
  const clock = startClock()
  const client = createClient(2, {}, clock)
  rule(0, { kind: 'hang' })
  const first = client.read(blockNumber, { work: never })
  await waitForRequests(0, 1, 'eth_chainId')
  await clock.advance(1_000)
  await first
  for (let call = 0; call < 20; call++) await client.read(blockNumber, { work: never })
  expect(seen(1)).toBe(21)
  // Waited for once, and then probed at most.
  expect(seen(0)).toBeLessThan(5)
  rule(0, undefined)
  // The probe is started by a read, once the endpoint has been left alone for a while.
  await clock.advance(30_000)
  await client.read(blockNumber, { work: never })
  await waitFor('the probe', () => client.report()[0]?.state === 'ready')
  const asked = seen(1)
  await client.read(blockNumber, { work: never })
  expect(seen(1)).toBe(asked)
})

test('read() tries each endpoint twice at most, and fails with the chain and a cause without addresses', async () => {
  const client = createClient(3)
  for (const index of [0, 1, 2]) rule(index, { kind: 'http', status: 500, body: `<p>${SECRET}</p>` })
  const error = await failure(client.read(blockNumber, { work: never }))
  expect(error).toBeInstanceOf(UnavailableError)
  expect(error.message).toBe('Cannot read chain 1 (Ethereum) after 6 attempts')
  expect([seen(0), seen(1), seen(2)]).toEqual([2, 2, 2])
  const shown = `${Bun.inspect(error, { depth: 10 })}${lines.join('')}`
  expect(shown).not.toContain(SECRET)
  expect(shown).not.toContain(new URL(rpcs[0]?.url ?? '').port)
})

test('read() ends with its budget if everything hangs', async () => {
  const clock = startClock()
  const client = createClient(3, {}, clock)
  for (const index of [0, 1, 2]) rule(index, { kind: 'hang' })
  let isOver = false
  const reading = failure(client.read(blockNumber, { work: never, budgetMs: 400 })).finally(() => {
    isOver = true
  })
  // A new endpoint is asked about its chain first, for which one call has a second.
  await waitForRequests(0, 1, 'eth_chainId')
  await clock.advance(399)
  expect(isOver).toBe(false)
  await clock.advance(1)
  expect(await reading).toBeInstanceOf(UnavailableError)
})

test('read() lets one caller at a time try an endpoint that failed repeatedly, and the others follow its success', async () => {
  const client = createClient(1)
  rule(0, { kind: 'http', status: 500, body: '' })
  await failure(client.read(blockNumber, { work: never }))
  await failure(client.read(blockNumber, { work: never }))
  expect(lines.filter((line) => line.includes('An RPC endpoint failed')).length).toBe(1)
  rpcs[0]?.reset()
  skipping.time.nowMs += PROBE_MS
  const trial = createHold()
  rule(0, trial.fault)
  const reading = Promise.all(Array.from({ length: 10 }, () => client.read(blockNumber, { work: never })))
  await waitForRequests(0, 1, 'eth_getBlockByNumber')
  await settle()
  // The check of its chain and one probe.
  expect(rpcs[0]?.seen.length).toBe(2)
  trial.open()
  expect(await reading).toEqual(Array(10).fill(0n))
  expect(lines.filter((line) => line.includes('An RPC endpoint recovered')).length).toBe(1)
})

test('read() counts one failure for a request that callers share, and each of them retries', async () => {
  const client = createClient(1)
  let bundles = 0
  rpcs[0]?.rule(({ params }) => {
    const isBundle = Object.keys((params[2] ?? {}) as object).length === 2
    return isBundle && bundles++ === 0 ? { kind: 'http', status: 500, body: '' } : undefined
  })
  const echo = { runtime: '0x366000600037366000f3', data: '0x12', block: 'latest' } as const
  const ask = () => client.read((endpoint, work) => callBundled(endpoint, echo, work), { work: never })
  expect(await Promise.all(Array.from({ length: 16 }, ask))).toEqual(Array(16).fill('0x12'))
  expect(bundles).toBeGreaterThan(0)
  expect(lines.filter((line) => line.includes('An RPC endpoint failed'))).toEqual([])
})

test('read() waits out a Retry-After that fits into its budget, and says how long if it does not', async () => {
  const client = createClient(1)
  const limited = (seconds: string): Fault => ({
    kind: 'http',
    status: 429,
    body: '',
    headers: { 'retry-after': seconds },
  })
  let calls = 0
  rpcs[0]?.rule(() => (calls++ === 0 ? limited('1') : undefined))
  // The first request to a new endpoint is eth_chainId, so the rate limit meets that one.
  expect(await client.read(blockNumber, { work: never })).toBe(0n)
  expect(skipping.time.nowMs - START_MS).toBeWithin(1_000, 1_100)
  rule(0, limited('30'))
  const error = await failure(client.read(blockNumber, { work: never }))
  expect(error).toBeInstanceOf(UnavailableError)
  expect((error as UnavailableError).retryAfterSec).toBe(30)
})

test('read() throws AbortedError as soon as the caller leaves, and counts no failure', async () => {
  // Its time does not pass, so that only the caller ends the call.
  const clock = startClock()
  const client = createClient(1, {}, clock)
  rule(0, { kind: 'hang' })
  const caller = new AbortController()
  const reading = failure(client.read(blockNumber, { work: createWork(caller.signal) }))
  await waitFor('the call', () => seen(0) === 1)
  caller.abort()
  expect(await reading).toBeInstanceOf(AbortedError)
  expect(await failure(client.read(blockNumber, { work: createWork(caller.signal) }))).toBeInstanceOf(AbortedError)
  rule(0, undefined)
  // Its chain is checked for all callers: that request ends by its own time.
  await clock.advance(1_000)
  expect(await client.read(blockNumber, { work: never })).toBe(0n)
})

test('read() passes a revert through after one try, with its data', async () => {
  const client = createClient(2)
  const at = '0x00000000000000000000000000000000000ec402'
  const call = { to: at, code: '0x366000600037366000fd', data: '0x1234', block: 'latest' } as const
  const error = await failure(client.read((endpoint, work) => endpoint.call(call, work), { work: never }))
  expect((error as RevertError).data).toBe('0x1234')
  expect([seen(0, 'eth_call'), seen(1, 'eth_call')]).toEqual([1, 0])
})

test('read() counts a revert of a request other than a call as a failure of the endpoint', async () => {
  rule(0, { kind: 'error', error: { code: 3, message: 'execution reverted', data: '0x' } })
  expect(await createClient(2).read(blockNumber, { work: never })).toBe(0n)
  expect(await failure(createClient(1).read(blockNumber, { work: never }))).toBeInstanceOf(UnavailableError)
})

test('read() passes other errors of the attempt through as they are', async () => {
  const broken = new TypeError('A bug')
  expect(await failure(createClient(2).read(() => Promise.reject(broken), { work: never }))).toBe(broken)
})

test('read() asks each endpoint once if all refuse', async () => {
  const client = createClient(2)
  const refuse = () => Promise.reject(new RpcRefusedError(-32602, 'No'))
  const error = await failure(client.read(refuse, { work: never }))
  expect(error).toBeInstanceOf(UnavailableError)
  expect(error.message).toContain('after 2 attempts')
})

test('read() uses no endpoint of another chain, not even a revert of it, and logs it once', async () => {
  const client = createClient(2)
  rpcs[0]?.rule(({ method }) =>
    method === 'eth_chainId'
      ? { kind: 'result', result: '0x89' }
      : { kind: 'error', error: { code: 3, message: 'execution reverted', data: '0x' } },
  )
  for (let call = 0; call < 3; call++) expect(await client.read(blockNumber, { work: never })).toBe(0n)
  expect([seen(0), seen(1)]).toEqual([1, 3])
  const told = lines.filter((line) => line.includes('another chain'))
  expect(told.length).toBe(1)
  expect(JSON.parse(told[0] ?? '{}')).toMatchObject({ level: 'error', chainId: 1, endpoint: 1, answered: '137' })
})

/** A header as nodes return it, with an age in seconds. */
function header(number: number, ageSec = 0) {
  const digits = (value: number): string => `0x${value.toString(16)}`
  const [hash, parentHash] = [number, number - 1].map((each) => `0x${each.toString(16).padStart(64, '0')}`)
  return { number: digits(number), timestamp: digits(Math.floor(START_MS / 1_000) - ageSec), hash, parentHash }
}

/** Makes an endpoint answer this header for its newest block. */
function newest(index: number, number: number, ageSec = 0): void {
  rpcs[index]?.rule(({ method }) =>
    method === 'eth_getBlockByNumber' ? { kind: 'result', result: header(number, ageSec) } : undefined,
  )
}

function readHead(client: EvmClient): Promise<bigint> {
  const read = (endpoint: Endpoint, work: Work) => readLatestBlock(endpoint, client.chain.id, work)
  return client.read(read, { work: never }).then(({ number }) => number)
}

const seenHeads = (index: number): number => seen(index, 'eth_getBlockByNumber')

test('read() returns to an endpoint that was behind another only if no other answers', async () => {
  const client = createClient(2)
  newest(0, 100)
  newest(1, 95, 60)
  expect(await readHead(client)).toBe(100n)
  await waitFor('the comparison', () => seenHeads(1) === 1)
  for (let read = 0; read < 3; read++) expect(await readHead(client)).toBe(100n)
  rule(0, { kind: 'http', status: 500, body: '' })
  expect(await readHead(client)).toBe(95n)
  newest(0, 101)
  // The first one is asked again as soon as a probe succeeds.
  skipping.time.nowMs += 1_000
  await waitFor('the return', async () => (await readHead(client)) === 101n)
})

test('read() leaves a stalled endpoint once another is seen ahead, even within the allowed age', async () => {
  const client = createClient(2)
  newest(0, 100, 120)
  newest(1, 110)
  await waitFor('the other endpoint', async () => (await readHead(client)) === 110n)
  const asked = seenHeads(0)
  for (let read = 0; read < 3; read++) expect(await readHead(client)).toBe(110n)
  expect(seenHeads(0)).toBe(asked)
})

test('read() probes the other endpoints in turn, every ten seconds at most, and none after close()', async () => {
  const client = createClient(3)
  for (const index of [0, 1, 2]) newest(index, 100)
  const asked = () => [seenHeads(1), seenHeads(2)]
  for (let read = 0; read < 5; read++) await readHead(client)
  await waitFor('the first comparison', () => asked().join() === '1,0')
  skipping.time.nowMs += 9_999
  await readHead(client)
  skipping.time.nowMs += 1
  await readHead(client)
  await waitFor('the second comparison', () => asked().join() === '1,1')
  client.close()
  skipping.time.nowMs += 10_000
  // The next one would have been asked before this read, if any were.
  await readHead(client)
  await readHead(client)
  expect(asked()).toEqual([1, 1])
})

test('read() uses the other endpoint if one of two shows an absurd head', async () => {
  const client = createClient(2)
  newest(0, 100)
  newest(1, 100)
  await readHead(client)
  await waitFor('the comparison', () => seenHeads(1) === 1)
  newest(0, 1_000_100)
  newest(1, 101)
  for (let read = 0; read < 3; read++) expect(await readHead(client)).toBe(101n)
  rule(1, { kind: 'http', status: 500, body: '' })
  newest(0, 102)
  expect(await readHead(client)).toBe(102n)
})

test('read() serves from the one endpoint left if the other showed an absurd head before it failed', async () => {
  const clock = startClock({ skipsPauses: true })
  const client = createClient(2, {}, clock)
  newest(0, 1_000_100)
  // Too late to contradict it.
  rule(1, { kind: 'hang' })
  expect(await readHead(client)).toBe(1_000_100n)
  await waitForRequests(1, 1, 'eth_chainId')
  await clock.advance(1_000)
  rule(0, { kind: 'http', status: 500, body: '' })
  newest(1, 100)
  for (let read = 0; read < 3; read++) expect(await readHead(client)).toBe(100n)
})

test('read() accepts no block further from the clock than the chain allows, and ready() is false', async () => {
  for (const offSec of [-86_400, 86_400]) {
    const off = await startAnvil({ timestampSec: Math.floor(START_MS / 1_000) + offSec })
    try {
      const alone = createClient(0, { rpcUrls: [off.rpcUrl] })
      expect(await failure(readHead(alone))).toBeInstanceOf(UnavailableError)
      expect(await alone.ready(never)).toBe(false)
      const tolerant = createClient(0, { rpcUrls: [off.rpcUrl], maxBlockAgeSec: 90_000 })
      expect([await readHead(tolerant), await tolerant.ready(never)]).toEqual([0n, true])
      newest(1, 7)
      const both = createClient(0, { rpcUrls: [off.rpcUrl, rpcs[1]?.url ?? ''] })
      expect([await readHead(both), await both.ready(never)]).toEqual([7n, true])
    } finally {
      await off.stop()
    }
  }
  expect(lines.join('')).toContain('expected at most 240 s')
})

test.each([
  [{ blockTimeMs: 12_000 }, 240],
  [{ blockTimeMs: 250 }, 60],
  [{ blockTimeMs: 12_000, maxBlockAgeSec: 30 }, 30],
  [{ maxBlockAgeSec: 3_600 }, 3_600],
])('the newest block of a chain with %o may be %d s old', async (row, maxSec) => {
  expect(blockAgeMaxSec(row)).toBe(maxSec)
  const client = createClient(1, row)
  newest(0, 100, maxSec - 5)
  expect(await readHead(client)).toBe(100n)
  newest(0, 101, maxSec + 5)
  const error = await failure(readHead(client))
  expect(error).toBeInstanceOf(UnavailableError)
  expect(error.message).toMatch(
    /^Cannot read chain 1 \(Ethereum\) because the newest block of its endpoint is \d+ s old/,
  )
  expect(error.message).toEndWith(`(limit ${maxSec} s)`)
})

test('without a known block time the newest block may be a minute old', () => {
  expect(blockAgeMaxSec({})).toBe(60)
})

test('read() accepts an earlier block from the only endpoint: there is no other to compare with', async () => {
  const client = createClient(1)
  for (const number of [100, 5]) {
    newest(0, number)
    expect(await readHead(client)).toBe(BigInt(number))
  }
})

test('ready() asks until it has an answer, and not again for a while', async () => {
  const client = createClient(2)
  for (const index of [0, 1]) rule(index, { kind: 'http', status: 500, body: '' })
  expect(await client.ready(never)).toBe(false)
  skipping.time.nowMs += PROBE_MS
  rule(1, undefined)
  expect(await client.ready(never)).toBe(true)
  const asked = seen(1)
  expect(await client.ready(never)).toBe(true)
  expect(seen(1)).toBe(asked)
  rule(0, { kind: 'result', result: '0x89' })
  const other = createClient(1)
  expect(await other.ready(never)).toBe(false)
})

test('read() runs 128 concurrent calls of one requester against one endpoint and queues the others', async () => {
  const client = createClient(1)
  await client.read(blockNumber, { work: never })
  rpcs[0]?.reset()
  const { work } = asking('a')
  let hold = createHold()
  rpcs[0]?.rule(() => hold.fault)
  const reading = Array.from({ length: 500 }, () => client.read(blockNumber, { work }))
  for (const count of [128, 256, 384, 500]) {
    await waitForRequests(0, count)
    await settle()
    expect(seen(0)).toBe(count)
    const { open } = hold
    hold = createHold()
    open()
  }
  expect((await Promise.all(reading)).length).toBe(500)
})

/** Calls of a requester that are never answered. */
function hangingCalls(client: EvmClient, count: number, budgetMs: number) {
  const { work } = asking('slow')
  const call = {
    to: '0x00000000000000000000000000000000000ec402',
    code: '0x00',
    data: '0x51',
    block: 'latest',
  } as const
  return Array.from({ length: count }, () =>
    failure(client.read((endpoint, within) => endpoint.call(call, within), { work, budgetMs })),
  )
}

function hangCalls(index: number): void {
  rpcs[index]?.rule(({ method }) => (method === 'eth_call' ? { kind: 'hang' } : undefined))
}

test('read() keeps an endpoint healthy that answers one requester while all calls of another hang', async () => {
  const clock = startClock()
  const client = createClient(2, {}, clock)
  for (const index of [0, 1]) hangCalls(index)
  await client.read(blockNumber, { work: never })
  const { work } = asking('quick')
  const hanging = Promise.all(hangingCalls(client, 60, 600))
  let isOver = false
  void hanging.then(() => {
    isOver = true
  })
  for (let calls = 1; !isOver; calls++) {
    expect(await client.read(blockNumber, { work })).toBeGreaterThanOrEqual(0n)
    // Each call is sent once.
    expect(seen(0) + seen(1)).toBe(1 + calls)
    await clock.advance(20)
  }
  expect(lines.filter((line) => line.includes('An RPC endpoint failed'))).toEqual([])
  expect(client.report().map(({ state }) => state)).toEqual(['ready', 'ready'])
})

test("read() probes an endpoint that failed repeatedly with a header, never with a caller's request", async () => {
  const clock = startClock()
  const client = createClient(1, {}, clock)
  hangCalls(0)
  await client.read(blockNumber, { work: never })
  rpcs[0]?.reset()
  // Nothing else is answered meanwhile, so slow calls cannot be told from a slow endpoint.
  const hanging = Promise.all(hangingCalls(client, 3, 400))
  await waitForRequests(0, 3, 'eth_call')
  await clock.advance(160)
  await waitFor('the probe', () => client.report()[0]?.state === 'ready' && seenHeads(0) === 1)
  await clock.advance(100)
  await waitFor('a call again', () => seen(0, 'eth_call') > 3)
  await clock.advance(140)
  await hanging
  const methods = rpcs[0]?.seen.map(({ method }) => method) ?? []
  expect(methods.slice(0, 5)).toEqual([...Array(3).fill('eth_call'), 'eth_getBlockByNumber', 'eth_call'])
  // The header arrived, so the calls were slow.
  expect(lines.filter((line) => line.includes('An RPC endpoint failed'))).toEqual([])
})

test('read() asks an endpoint that is back, but far behind, if no other answers', async () => {
  const client = createClient(2)
  newest(1, 1_000)
  newest(0, 1_000)
  await Promise.all([readHead(client), client.read(blockNumber, { work: never })])
  for (const index of [0, 1]) rule(index, { kind: 'http', status: 500, body: '' })
  for (let times = 0; times < 2; times++) await failure(readHead(client))
  expect(client.report().map(({ state }) => state)).toEqual(['open', 'open'])
  skipping.time.nowMs += PROBE_MS
  newest(0, 900)
  expect(await readHead(client)).toBe(900n)
})

test('read() refuses an answer for another chain, and tries another endpoint', async () => {
  const client = createClient(2)
  const answer = await client.read(
    async (endpoint) => {
      const chainId = endpoint.index === 0 ? client.chain.id + 1 : client.chain.id
      endpoint.observeBlock({ chainId, number: 7n, timestampSec: BigInt(Math.floor(Date.now() / 1_000)) })
      return endpoint.index
    },
    { work: never },
  )
  expect(answer).toBe(1)
})

/** A read of several requests, one after the other. */
function chapters(client: EvmClient, count: number) {
  return client.read(
    async (endpoint, work) => {
      for (let index = 0; index < count; index++) await blockNumber(endpoint, work)
      return endpoint.index
    },
    { work: never },
  )
}

/** Injects the fault at every n-th request to the endpoint. */
function everyNth(index: number, nth: number, fault: Fault): void {
  let requests = 0
  rpcs[index]?.rule(() => (++requests % nth === 0 ? fault : undefined))
}

test.each([
  ['is limited', 3, { kind: 'http', status: 429, body: '' }],
  ['is limited with a pause', 5, { kind: 'http', status: 429, body: '', headers: { 'retry-after': '1' } }],
  ['is cut off', 4, { kind: 'cut' }],
  ['is a 502', 4, { kind: 'http', status: 502, body: '' }],
  ['is limited in its body', 3, { kind: 'error', error: { code: -32005, message: 'rate limit exceeded' } }],
] as [string, number, Fault][])('a reading sends a request alone again that %s', async (_, nth, fault) => {
  const client = createClient(1)
  await chapters(client, 1)
  rpcs[0]?.reset()
  everyNth(0, nth, fault)
  expect(await chapters(client, 9)).toBe(0)
  // Those that failed, and each of the nine once.
  const failed = Math.floor((rpcs[0]?.seen.length ?? 0) / nth)
  expect(failed).toBeGreaterThan(1)
  expect(seen(0)).toBe(9 + failed)
})

test('a read whose first request fails starts at the next endpoint, a started one stays', async () => {
  const client = createClient(2)
  const busy: Fault = { kind: 'http', status: 429, body: '' }
  await chapters(client, 1)
  for (const index of [0, 1]) rpcs[index]?.reset()
  rule(0, busy)
  expect(await chapters(client, 3)).toBe(1)
  expect([seen(0), seen(1)]).toEqual([1, 3])
})

test('a read gives up a request after four retries, and at once if the pause would be too long', async () => {
  const client = createClient(2)
  await chapters(client, 1)
  const after = (requests: number, fault: Fault) => {
    for (const index of [0, 1]) rpcs[index]?.reset()
    let asked = 0
    rpcs[0]?.rule(({ method }) => (method === 'eth_blockNumber' && ++asked > requests ? fault : undefined))
  }
  after(2, { kind: 'cut' })
  expect(await chapters(client, 4)).toBe(1)
  expect([seen(0), seen(1)]).toEqual([2 + 5, 4])
  const other = createClient(2)
  rpcs[0]?.rule(() => undefined)
  await chapters(other, 1)
  after(2, { kind: 'http', status: 429, body: '', headers: { 'retry-after': '20' } })
  expect(await chapters(other, 4)).toBe(1)
  expect([seen(0), seen(1)]).toEqual([2 + 1, 4])
  // Permanent failures are not retried.
  const third = createClient(2)
  rpcs[0]?.rule(() => undefined)
  await chapters(third, 1)
  after(2, { kind: 'error', error: { code: -32000, message: 'missing trie node' } })
  expect(await chapters(third, 4)).toBe(1)
  expect(seen(0)).toBe(3)
})
