import { expect, test } from 'bun:test'
import { createRateLimiter, type RateLimiter } from '../../../../src/lib/async/rate_limiter.ts'
import { AbortedError } from '../../../../src/lib/error.ts'
import { createTestClock, type TestClock } from '../../../support/test_clock.ts'

const never = new AbortController().signal

/** Starts so many one after the other; how long each waited that did, milliseconds. */
async function startMany(rate: RateLimiter, count: number, clock: TestClock): Promise<number[]> {
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = async (ms) => void sleeps.push(ms)
  for (let started = 0; started < count; started++) await rate(never)
  clock.sleep = sleep
  return sleeps
}

test('createRateLimiter() allows a burst after a pause, then its rate', async () => {
  const clock = createTestClock()
  const rate = createRateLimiter({ perSecond: 50, clock })
  const start = (count: number) => startMany(rate, count, clock)
  expect(await start(50)).toEqual([])
  expect(await start(3)).toEqual([20, 40, 60])
  await clock.advance(560)
  expect(await start(26)).toEqual([20])
  await clock.advance(60_000)
  expect((await start(150)).at(-1)).toBe(2_000)
})

test('createRateLimiter() without a burst allows one start at once, and each next one a step later', async () => {
  const clock = createTestClock()
  const rate = createRateLimiter({ perSecond: 100, burstMs: 0, clock })
  expect(await startMany(rate, 3, clock)).toEqual([10, 20])
  await clock.advance(60_000)
  expect(await startMany(rate, 3, clock)).toEqual([10, 20])
})

test('createRateLimiter() holds a start back until its time, or until the caller leaves', async () => {
  const clock = createTestClock()
  const rate = createRateLimiter({ perSecond: 100, burstMs: 0, clock })
  const caller = new AbortController()
  let started = 0
  const waiting = [never, never, caller.signal].map((signal) => rate(signal).then(() => started++))
  const left = waiting[2]?.catch((error: unknown) => error)
  await clock.advance(9)
  expect(started).toBe(1)
  caller.abort()
  await clock.advance(60_000)
  expect(started).toBe(2)
  expect(await left).toBeInstanceOf(AbortedError)
})
