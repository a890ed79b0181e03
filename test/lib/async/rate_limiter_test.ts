import { expect, test } from 'bun:test'
import { createRateLimiter } from '../../../src/lib/async/rate_limiter.ts'

const never = new AbortController().signal

test('createRateLimiter() allows a burst after a pause, then its rate', async () => {
  let nowMs = 0
  const waits: number[] = []
  const rate = createRateLimiter({
    perSecond: 50,
    clock: { now: () => nowMs, monotonicMs: () => nowMs },
    sleep: async (ms) => {
      waits.push(ms)
    },
  })
  const start = async (count: number) => {
    waits.length = 0
    for (let started = 0; started < count; started++) await rate(never)
    return waits
  }
  expect(await start(50)).toEqual([])
  expect(await start(3)).toEqual([20, 40, 60])
  nowMs += 560
  expect(await start(26)).toEqual([20])
  nowMs += 60_000
  expect((await start(150)).at(-1)).toBe(2_000)
})

test('createRateLimiter() without a burst allows one start at once, and each next one a step later', async () => {
  let nowMs = 0
  const waits: number[] = []
  const rate = createRateLimiter({
    perSecond: 100,
    burstMs: 0,
    clock: { now: () => nowMs, monotonicMs: () => nowMs },
    sleep: async (ms) => {
      waits.push(ms)
    },
  })
  for (let started = 0; started < 3; started++) await rate(never)
  nowMs += 60_000
  for (let started = 0; started < 3; started++) await rate(never)
  expect(waits).toEqual([10, 20, 10, 20])
})
