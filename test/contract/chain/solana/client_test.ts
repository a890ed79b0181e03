import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createSolanaClient, type SolanaClient } from '../../../../src/chain/solana/client.ts'
import { createWork, type Work } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { AbortedError, UpstreamError } from '../../../../src/lib/error.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { KLEND, toFakeAddress, toServedAccount } from '../../../support/kamino.ts'
import { CLOCK, type Fault, type SolanaDouble, startSolanaDouble } from '../../../support/solana.ts'
import { createFixedClock, createSkippingClock, createTestClock } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

const HELD = toFakeAddress('held')
const ABSENT = toFakeAddress('absent')
const DATA = Uint8Array.from({ length: 40 }, (_, index) => index)
const NEVER = createWork(new AbortController().signal)
const PROGRAM = 'BPFLoaderUpgradeab1e11111111111111111111111'

const first = startSolanaDouble()
const second = startSolanaDouble()
const START_SEC = 1_800_000_000
const START_MS = START_SEC * 1_000
let lines: string[] = []
/** The default of `client`: no deadline passes, and pauses end at once. */
let skipping: ReturnType<typeof createSkippingClock>

beforeEach(() => {
  lines = []
  skipping = createSkippingClock()
  skipping.time.nowMs = START_MS
  for (const double of [first, second]) {
    double.accounts = { [HELD]: toServedAccount(DATA) }
    double.slot = 1000
    double.clockSec = START_SEC
    double.always = undefined
    double.seen.length = 0
    double.faults.length = 0
  }
})

afterEach(() => {
  // No error and no log line may show a URL or the endpoint's own words.
  expect(lines.join()).not.toMatch(/solana-secret|127\.0\.0\.1|upstream text/)
})

afterAll(async () => {
  await Promise.all([first.stop(), second.stop()])
}, 60_000)

function client(...doubles: readonly Pick<SolanaDouble, 'url'>[]): SolanaClient {
  return openClient(doubles, skipping)
}

function openClient(doubles: readonly Pick<SolanaDouble, 'url'>[], clock: Clock): SolanaClient {
  const log = createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() })
  const rpcUrls = doubles.map(({ url }) => url)
  return createSolanaClient({ rpcUrls, maxSlotAgeSec: 60, slotMs: 400, clock, log, random: () => 0 })
}

function readHeld(solana: SolanaClient, options: { readonly work?: Work; readonly minSlot?: bigint } = {}) {
  const { work = NEVER, minSlot } = options
  return solana.read((session) => session.accounts([HELD, ABSENT], minSlot === undefined ? {} : { minSlot }), {
    work,
  })
}

async function captureFailure(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('Expected the read to fail')
  expect(`${error.message} ${error.stack} ${String((error.cause as Error | undefined)?.message)}`).not.toMatch(
    /solana-secret|upstream text/,
  )
  return error
}

describe('accounts()', () => {
  test('gives every account at one slot, null if an account does not exist', async () => {
    const { slot, accounts } = await readHeld(client(first))
    expect(slot).toBe(1000n)
    expect(accounts).toEqual([{ owner: KLEND, data: DATA, lamports: 1_000_000n }, null])
    expect(first.seen).toMatchObject([{ method: 'getMultipleAccounts', addresses: [HELD, ABSENT, CLOCK] }])
  })

  test('takes 99 addresses, so that with the clock they are the hundred of one request, and refuses more', async () => {
    const read = (count: number) =>
      client(first).read((session) => session.accounts(Array.from({ length: count }, () => HELD)), { work: NEVER })
    await expect(read(100)).rejects.toThrow(RangeError)
    expect(first.seen).toEqual([])
    expect((await read(99)).accounts.length).toBe(99)
  })

  test('reads no more of an account than an answer may have of all, whatever its program', async () => {
    const names = Array.from({ length: 99 }, (_, index) => toFakeAddress(`account ${index}`))
    const whole = new Uint8Array(28_712).fill(7)
    const long = { ...toServedAccount(new Uint8Array(200_000)), owner: PROGRAM }
    first.accounts = Object.fromEntries(
      names.map((name, index) => [name, index === 0 ? toServedAccount(whole) : long] as const),
    )
    const { accounts } = await client(first).read((session) => session.accounts(names), { work: NEVER })
    expect(accounts[0]?.data).toEqual(whole)
    expect(accounts.slice(1).map((account) => account?.data.length)).toEqual(Array(98).fill(32_768))
  })

  test('returns all digits of lamports that JSON numbers would round', async () => {
    for (const lamports of ['0', '9007199254740991', '9007199254740993', '18446744073709551615']) {
      first.faults.push(withLamports(lamports))
      const { accounts } = await readHeld(client(first))
      expect(accounts[0]?.lamports).toBe(BigInt(lamports))
    }
    expect(first.seen.length).toBe(4)
  })

  test('gives the time and the epoch of the slot by the clock of the cluster', async () => {
    first.slot = 432_000 * 925 + 1
    first.clockSec = START_SEC - 3
    const { timestampSec, epoch } = await readHeld(client(first))
    expect([timestampSec, epoch]).toEqual([BigInt(first.clockSec), 925n])
  })

  test('requests a minimum slot, and refuses the answer of an endpoint that ignores it', async () => {
    await readHeld(client(first), { minSlot: 1000n })
    expect(first.seen[0]?.minContextSlot).toBe(1000)
    first.always = {
      kind: 'reply',
      change: (reply) => ({ ...reply, result: { ...reply.result, context: { slot: 999 } } }),
    }
    second.slot = 1005
    expect((await readHeld(client(first, second), { minSlot: 1000n })).slot).toBe(1005n)
    expect(await captureFailure(readHeld(client(first), { minSlot: 1000n }))).toBeInstanceOf(UpstreamError)
  })
})

const PASSING: readonly (readonly [string, Fault])[] = [
  ['HTTP 500', { kind: 'http', status: 500 }],
  ['HTTP 503', { kind: 'http', status: 503 }],
  ['HTTP 408', { kind: 'http', status: 408 }],
  ['-32005, a node behind', { kind: 'rpc', code: -32005 }],
  ['-32016, a slot not reached', { kind: 'rpc', code: -32016 }],
  ['-32004, a block missing', { kind: 'rpc', code: -32004 }],
  ['-32014, a status missing', { kind: 'rpc', code: -32014 }],
  ['-32012, a scan aborted', { kind: 'rpc', code: -32012 }],
  ['-32603, an internal error', { kind: 'rpc', code: -32603 }],
  ['an error of an EVM revert', { kind: 'rpc', code: 3, message: 'execution reverted' }],
  ['HTML', { kind: 'body', text: '<html>upstream text</html>' }],
  ['an empty body', { kind: 'body', text: '' }],
  ['a list', { kind: 'body', text: '[]' }],
  ['an answer cut short', { kind: 'cut' }],
  ['an answer to another request', { kind: 'reply', change: (reply) => ({ ...reply, id: 999_999 }) }],
  ['no result', { kind: 'reply', change: ({ jsonrpc, id }) => ({ jsonrpc, id }) }],
  ['a null result', { kind: 'reply', change: (reply) => ({ ...reply, result: null }) }],
  [
    'too few accounts',
    { kind: 'reply', change: (reply) => ({ ...reply, result: { ...reply.result, value: [null] } }) },
  ],
  [
    'a slot that is not a number',
    { kind: 'reply', change: (reply) => ({ ...reply, result: { ...reply.result, context: { slot: '1000' } } }) },
  ],
  ['data that is not base64', withData(['AAECAw*=', 'base64'])],
  ['data that is cut', withData(['AAECA', 'base64'])],
  ['data in another encoding', withData(['AAECAw==', 'base58'])],
  ['data that is parsed', withData({ parsed: {} })],
  ['no lamports', withLamports('null')],
  ['lamports below zero', withLamports('-1')],
  ['broken lamports', withLamports('1.5')],
]

/** The honest answer with other lamports, as an endpoint writes them. */
function withLamports(written: string): Fault {
  const text = (reply: unknown) => JSON.stringify(reply).replaceAll('"lamports":1000000', `"lamports":${written}`)
  return { kind: 'text', change: text }
}

function withData(data: unknown): Fault {
  return {
    kind: 'reply',
    change: (reply) => ({
      ...reply,
      result: { ...reply.result, value: [{ owner: KLEND, data, lamports: 1 }, ...reply.result.value.slice(1)] },
    }),
  }
}

describe('a passing failure', () => {
  test.each(PASSING)('%s is tried again at the same endpoint', async (_, fault) => {
    first.faults.push(fault)
    expect((await readHeld(client(first))).slot).toBe(1000n)
    expect(first.seen.length).toBe(2)
  })

  test.each(PASSING)('%s moves on to the next endpoint at once', async (_, fault) => {
    first.always = fault
    expect((await readHeld(client(first, second))).slot).toBe(1000n)
    expect([first.seen.length, second.seen.length]).toEqual([1, 1])
  })

  test('that persists is an UpstreamError after three attempts', async () => {
    first.always = { kind: 'http', status: 503 }
    expect(await captureFailure(readHeld(client(first)))).toBeInstanceOf(UpstreamError)
    expect(first.seen.length).toBe(3)
  })

  test('pauses longer before each further try', async () => {
    first.always = { kind: 'http', status: 503 }
    await captureFailure(readHeld(client(first)))
    expect(skipping.sleeps).toEqual([75, 150])
  })

  test('of a refused connection moves on', async () => {
    const gone = startSolanaDouble()
    await gone.stop()
    expect((await readHeld(client(gone, second))).slot).toBe(1000n)
    expect(await captureFailure(readHeld(client(gone)))).toBeInstanceOf(UpstreamError)
  })

  test('of an answer without end is cut off and moves on', async () => {
    first.always = { kind: 'endless' }
    expect((await readHeld(client(first, second))).slot).toBe(1000n)
  })

  test('of an answer without end is not held against the endpoint', async () => {
    first.faults.push({ kind: 'endless' })
    const solana = client(first, second)
    expect((await readHeld(solana)).slot).toBe(1000n)
    expect(solana.report().map(({ state }) => state)).toEqual(['ready', 'ready'])
    expect(lines).toEqual([])
  })

  test('of an endpoint that does not answer ends after a second and moves on', async () => {
    first.always = { kind: 'hang' }
    const clock = createTestClock({ nowMs: START_MS })
    const reading = readHeld(openClient([first, second], clock))
    await waitFor('the request', () => first.seen.length === 1)
    await clock.advance(999)
    expect(second.seen.length).toBe(0)
    await clock.advance(1)
    expect((await reading).slot).toBe(1000n)
    expect(second.seen.length).toBe(1)
  })

  test('puts the endpoint behind the others for the next read', async () => {
    first.faults.push({ kind: 'http', status: 503 })
    const solana = client(first, second)
    await readHeld(solana)
    await readHeld(solana)
    expect([first.seen.length, second.seen.length]).toEqual([1, 2])
    expect(lines.filter((line) => line.includes('An RPC endpoint failed')).length).toBe(1)
  })

  test('that repeats leaves the endpoint to one caller at a time', async () => {
    first.always = { kind: 'http', status: 503 }
    const solana = client(first)
    await captureFailure(readHeld(solana))
    const before = first.seen.length
    await Promise.all(Array.from({ length: 10 }, () => captureFailure(readHeld(solana))))
    // Each of the ten would have asked three times.
    expect(first.seen.length - before).toBe(1)
    first.always = undefined
    expect(await captureFailure(readHeld(solana))).toBeInstanceOf(UpstreamError)
    expect(first.seen.length - before).toBe(1)
    skipping.time.nowMs += 1_000
    expect((await readHeld(solana)).slot).toBe(1000n)
  })

  test('of all endpoints to answer ends within the budget of 2.5 seconds', async () => {
    first.always = { kind: 'hang' }
    second.always = { kind: 'hang' }
    const clock = createTestClock({ nowMs: START_MS })
    const failing = captureFailure(readHeld(openClient([first, second], clock)))
    await waitFor('the first request', () => first.seen.length === 1)
    await clock.advance(1_000)
    await waitFor('the second request', () => second.seen.length === 1)
    await clock.advance(1_500)
    expect(await failing).toBeInstanceOf(UpstreamError)
    expect(clock.monotonicMs()).toBe(2_500)
  })
})

const REFUSALS: readonly (readonly [string, Fault])[] = [
  ['HTTP 401', { kind: 'http', status: 401 }],
  ['HTTP 403', { kind: 'http', status: 403 }],
  ['HTTP 413', { kind: 'http', status: 413 }],
  ['-32600', { kind: 'rpc', code: -32600 }],
  ['HTTP 410', { kind: 'http', status: 410 }],
  ['401 in the body', { kind: 'rpc', code: 401 }],
  ['403 in the body', { kind: 'rpc', code: 403 }],
  ['410 in the body', { kind: 'rpc', code: 410 }],
  ['-32601', { kind: 'rpc', code: -32601 }],
  ['-32602', { kind: 'rpc', code: -32602 }],
  ['-32401', { kind: 'rpc', code: -32401 }],
  ['-32010', { kind: 'rpc', code: -32010 }],
]

describe('a refusal', () => {
  test.each(REFUSALS)('%s is not tried again at the same endpoint', async (_, fault) => {
    first.always = fault
    expect(await captureFailure(readHeld(client(first)))).toBeInstanceOf(UpstreamError)
    expect(first.seen.length).toBe(1)
  })

  test.each(REFUSALS)('%s is tried at the next', async (_, fault) => {
    first.always = fault
    expect((await readHeld(client(first, second))).slot).toBe(1000n)
  })

  test('of a redirect is never followed', async () => {
    first.always = { kind: 'http', status: 307, headers: { location: second.url } }
    expect(await captureFailure(readHeld(client(first)))).toBeInstanceOf(UpstreamError)
    expect(second.seen).toEqual([])
  })
})

describe('a rate limit', () => {
  test.each([
    ['HTTP 429', { kind: 'http', status: 429, headers: { 'retry-after': '1' } }, 1_000],
    ['429 in the body', { kind: 'rpc', code: 429 }, 100],
    ['-32429', { kind: 'rpc', code: -32429 }, 100],
  ] as const)('%s of the only endpoint is waited for', async (_, fault, leastMs) => {
    first.faults.push(fault)
    expect((await readHeld(client(first))).slot).toBe(1000n)
    expect(skipping.sleeps).toEqual([leastMs])
  })

  test('moves on to the next endpoint, and is kept until it is over', async () => {
    first.faults.push({ kind: 'http', status: 429, headers: { 'retry-after': '60' } })
    const solana = client(first, second)
    await readHeld(solana)
    await readHeld(solana)
    expect([first.seen.length, second.seen.length]).toEqual([1, 2])
  })

  test('that outlasts the budget is an error at once', async () => {
    first.faults.push({ kind: 'http', status: 429, headers: { 'retry-after': '60' } })
    expect(await captureFailure(readHeld(client(first)))).toBeInstanceOf(UpstreamError)
    expect(skipping.sleeps).toEqual([])
  })
})

describe('read()', () => {
  test('ends at once when the caller leaves, during a call and during a pause', async () => {
    for (const fault of [{ kind: 'hang' }, { kind: 'http', status: 429, headers: { 'retry-after': '2' } }] as const) {
      first.faults.push(fault)
      const controller = new AbortController()
      // Its time does not pass, so that only the caller ends the call, or the pause of two seconds.
      const clock = createTestClock({ nowMs: START_MS })
      const before = first.seen.length
      const failing = captureFailure(readHeld(openClient([first], clock), { work: createWork(controller.signal) }))
      // A deadline of the whole, and one of the call or a pause.
      await waitFor('the call or the pause', () => first.seen.length > before && clock.pending === 2)
      controller.abort()
      expect(await failing).toBeInstanceOf(AbortedError)
      expect(clock.pending).toBe(0)
    }
  })

  test('sends nothing for a caller that has left before', async () => {
    expect(await captureFailure(readHeld(client(first), { work: createWork(AbortSignal.abort()) }))).toBeInstanceOf(
      AbortedError,
    )
    expect(first.seen).toEqual([])
  })

  test('has one budget for all its steps', async () => {
    const clock = createTestClock({ nowMs: START_MS })
    const failing = captureFailure(
      openClient([first], clock).read(
        async (session) => {
          await session.accounts([HELD])
          await clock.advance(2_000)
          first.always = { kind: 'hang' }
          return await session.accounts([HELD])
        },
        { work: NEVER },
      ),
    )
    await waitFor('the second step', () => first.seen.length === 2)
    await clock.advance(500)
    expect(await failing).toBeInstanceOf(UpstreamError)
    // A budget of its own would let the second step last until 4,500 ms.
    expect(clock.monotonicMs()).toBe(2_500)
  })

  test('sends user and password of a URL to its endpoint only', async () => {
    const withUser = first.url.replace('http://', 'http://user:hidden@')
    expect((await readHeld(client({ url: withUser }))).slot).toBe(1000n)
  })
})

describe('ready()', () => {
  test('asks an endpoint, and reuses the answer for a while', async () => {
    const solana = client(first)
    expect(await solana.ready(NEVER)).toBe(true)
    expect(first.seen).toMatchObject([{ addresses: [CLOCK] }])
    first.always = { kind: 'http', status: 503 }
    expect(await solana.ready(NEVER)).toBe(true)
    expect(first.seen.length).toBe(1)
  })

  test('is false if no endpoint answers', async () => {
    first.always = { kind: 'http', status: 503 }
    expect(await client(first).ready(NEVER)).toBe(false)
  })
})

test('close() ends the probes of endpoints that do not serve, and starts no others', async () => {
  const solana = client(first, second)
  await readHeld(solana)
  expect(second.seen.length).toBe(0)
  skipping.time.nowMs += 10_000
  await readHeld(solana)
  await waitFor('a probe', () => second.seen.length === 1)
  solana.close()
  // The first read may come while the last probe is still under way.
  for (let read = 0; read < 2; read++) {
    skipping.time.nowMs += 10_000
    await readHeld(solana)
  }
  expect(second.seen.length).toBe(1)
})
