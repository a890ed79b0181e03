import { afterAll, beforeEach, describe, expect, test } from 'bun:test'
import { createSolanaClient, type SolanaClient } from '../../../../src/chain/solana/client.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { createLog } from '../../../../src/lib/log.ts'
import { toFakeAddress, toServedAccount } from '../../../support/kamino.ts'
import { CLOCK, clockBytes, type SolanaDouble, startSolanaDouble } from '../../../support/solana.ts'
import { createFixedClock, createSkippingClock, createTestClock, settle } from '../../../support/test_clock.ts'
import { waitFor } from '../../../support/wait_for.ts'

const HELD = toFakeAddress('held')
const NEVER = createWork(new AbortController().signal)
const SYSVAR = 'Sysvar1111111111111111111111111111111111111'
const HOUR = 3_600
const DAY = 86_400

const first = startSolanaDouble()
const second = startSolanaDouble()
let lines: string[] = []
const NOW_SEC = 1_800_000_000
/** The default of `client`: no deadline passes, and pauses end at once. */
let skipping: ReturnType<typeof createSkippingClock>
/** Requests that the clients have finished. */
let finished = 0

beforeEach(() => {
  lines = []
  skipping = createSkippingClock()
  skipping.time.nowMs = NOW_SEC * 1_000
  finished = 0
  for (const double of [first, second]) {
    double.accounts = { [HELD]: toServedAccount(Uint8Array.of(double === first ? 1 : 2)) }
    double.slot = 1_000_000
    double.clockSec = NOW_SEC
    double.clockSlot = undefined
    double.always = undefined
    double.seen.length = 0
    double.faults.length = 0
  }
})

afterAll(async () => {
  await Promise.all([first.stop(), second.stop()])
}, 60_000)

function client(
  doubles: readonly SolanaDouble[],
  options: { readonly maxSlotAgeSec?: number; readonly clock?: Clock } = {},
): SolanaClient {
  const { maxSlotAgeSec = 60, clock = skipping } = options
  return createSolanaClient({
    rpcUrls: doubles.map(({ url }) => url),
    clock,
    record: () => void finished++,
    log: createLog({ level: 'debug', write: (line) => lines.push(line), clock: createFixedClock() }),
    random: () => 0,
    maxSlotAgeSec,
    slotMs: 400,
  })
}

/** Which endpoint answered: 1 or 2. Throws the error of the read. */
async function readAnsweringEndpoint(solana: SolanaClient): Promise<number | undefined> {
  const { accounts } = await solana.read((session) => session.accounts([HELD]), { work: NEVER })
  return accounts[0]?.data[0]
}

/** The endpoint that answers, or `none` if none does. */
async function outcome(solana: SolanaClient): Promise<number | 'none' | undefined> {
  return await readAnsweringEndpoint(solana).catch((error: unknown) => {
    if (error instanceof UpstreamError) return 'none'
    throw error
  })
}

describe('a slot that is too old by the wall clock', () => {
  test('makes the read ask another endpoint, and fail if there is only one', async () => {
    first.clockSec = NOW_SEC - DAY
    expect(await outcome(client([first, second]))).toBe(2)
    expect(await outcome(client([first]))).toBe('none')
    expect(lines.join()).toMatch(/86\d{3} s behind the wall clock/)
  })

  test('is not ready', async () => {
    first.clockSec = NOW_SEC - DAY
    expect(await client([first]).ready(NEVER)).toBe(false)
    expect(await client([first, second]).ready(NEVER)).toBe(true)
  })

  test.each([
    ['a cluster whose clock lags by three quarters of a minute', 45, 60, 1],
    ['one that lags by more than is tolerated', 75, 60, 'none'],
    ['one that lags by less than the operator tolerates', HOUR, DAY, 1],
    ['one that is ahead by a little', -45, 60, 1],
    ['one from the future', -75, 60, 'none'],
  ] as const)('%s', async (_, lagSec, maxSlotAgeSec, expected) => {
    first.clockSec = NOW_SEC - lagSec
    expect(await outcome(client([first], { maxSlotAgeSec }))).toBe(expected)
  })
})

describe('the clock', () => {
  test('is read and returned with the accounts, in the same request', async () => {
    first.clockSec = NOW_SEC - 7
    const { slot, timestampSec, accounts } = await client([first]).read((session) => session.accounts([HELD]), {
      work: NEVER,
    })
    expect([slot, timestampSec, accounts.length]).toEqual([1_000_000n, BigInt(first.clockSec), 1])
    expect(first.seen.map(({ addresses }) => addresses)).toEqual([[HELD, CLOCK]])
  })

  test.each([
    ['that names the slot of the answer', 0, 1],
    ['a few slots behind it, as of a cache', -32, 1],
    ['a few slots ahead of it', 32, 1],
    ['of another time', -33, 'none'],
    ['of a later time', 33, 'none'],
  ] as const)('%s', async (_, ahead, expected) => {
    first.clockSlot = first.slot + ahead
    expect(await outcome(client([first]))).toBe(expected)
  })

  const data = clockBytes({ slot: 1_000_000, unixSec: NOW_SEC })
  test.each([
    ['of another program', toServedAccount(data, toFakeAddress('another program'))],
    ['cut short', toServedAccount(data.subarray(1), SYSVAR)],
    ['before 1970', toServedAccount(clockBytes({ slot: 1_000_000, unixSec: -1 }), SYSVAR)],
  ])('%s is refused', async (_, account) => {
    first.accounts = { [HELD]: toServedAccount(Uint8Array.of(1)), [CLOCK]: account }
    expect(await outcome(client([first]))).toBe('none')
    expect(await outcome(client([first, second]))).toBe(2)
  })

  test('with fields appended by a later runtime is accepted', async () => {
    const longer = toServedAccount(Uint8Array.from([...data, ...new Uint8Array(8).fill(255)]), SYSVAR)
    first.accounts = { [HELD]: toServedAccount(Uint8Array.of(1)), [CLOCK]: longer }
    expect(await outcome(client([first]))).toBe(1)
  })

  test('that is missing is refused', async () => {
    first.always = {
      kind: 'reply',
      change: (reply) => ({
        ...reply,
        result: { ...reply.result, value: [...reply.result.value.slice(0, -1), null] },
      }),
    }
    expect(await outcome(client([first]))).toBe('none')
  })
})

test("an answer that the caller's check refuses is read from the next endpoint", async () => {
  const { accounts } = await client([first, second]).read(
    (session) =>
      session.accounts([HELD], {
        check: (answer) => {
          if (answer.accounts[0]?.data[0] === 1) throw new UpstreamError('Not believed')
        },
      }),
    { work: NEVER },
  )
  expect(accounts[0]?.data[0]).toBe(2)
  expect(lines.join()).toContain('Not believed')
})

describe('with two endpoints', () => {
  /** Reads once when a probe is due, and waits until `double` was probed. */
  async function letLook(solana: SolanaClient, double: SolanaDouble): Promise<void> {
    skipping.time.nowMs += 11_000
    const [seenBefore, finishedBefore] = [double.seen.length, finished]
    await readAnsweringEndpoint(solana)
    const isHanging = double.always?.kind === 'hang'
    await waitFor('a look', () => double.seen.length > seenBefore && finished - finishedBefore >= (isHanging ? 1 : 2))
    await settle()
  }

  test('an endpoint far behind the other is left for it, even within the tolerated age', async () => {
    first.clockSec = NOW_SEC - HOUR
    second.slot = first.slot + 9_000
    const solana = client([first, second], { maxSlotAgeSec: DAY })
    expect(await readAnsweringEndpoint(solana)).toBe(1)
    await letLook(solana, second)
    expect(await readAnsweringEndpoint(solana)).toBe(2)
    // Still asked if the other fails.
    second.always = { kind: 'http', status: 503 }
    expect(await readAnsweringEndpoint(solana)).toBe(1)
  })

  test('an endpoint that caught up is asked first again', async () => {
    first.clockSec = NOW_SEC - HOUR
    second.slot = first.slot + 9_000
    const solana = client([first, second], { maxSlotAgeSec: DAY })
    await readAnsweringEndpoint(solana)
    await letLook(solana, second)
    expect(await readAnsweringEndpoint(solana)).toBe(2)
    first.clockSec = NOW_SEC
    first.slot = second.slot
    await letLook(solana, first)
    expect(await readAnsweringEndpoint(solana)).toBe(1)
  })

  test.each([
    ['a few slots', 40],
    ['an impossible number of slots', 2 ** 50],
  ])('an endpoint that is ahead by %s changes nothing', async (_, ahead) => {
    second.slot = first.slot + ahead
    const solana = client([first, second])
    await readAnsweringEndpoint(solana)
    await letLook(solana, second)
    expect(await readAnsweringEndpoint(solana)).toBe(1)
  })

  test('the other endpoint is probed periodically, only while reads come in', async () => {
    const clock = createTestClock({ nowMs: NOW_SEC * 1_000 })
    const solana = client([first, second], { clock })
    for (let reads = 0; reads < 5; reads++) await readAnsweringEndpoint(solana)
    expect(second.seen.length).toBe(0)
    await clock.advance(11_000)
    expect(second.seen.length).toBe(0)
    await readAnsweringEndpoint(solana)
    await waitFor('a look', () => second.seen.length === 1)
    for (let reads = 0; reads < 5; reads++) await readAnsweringEndpoint(solana)
    expect(second.seen.map(({ addresses }) => addresses)).toEqual([[CLOCK]])
    await clock.advance(60_000)
    expect(second.seen.length).toBe(1)
  })

  test('a probe that fails or hangs does not affect reads', async () => {
    second.always = { kind: 'hang' }
    const solana = client([first, second])
    await letLook(solana, second)
    expect(await readAnsweringEndpoint(solana)).toBe(1)
  })
})
