import { expect, test } from 'bun:test'
import { ATTEMPTS_MAX, computeRetryDelay } from '../../../../src/trigger/deliver/deliver.ts'

const MINUTE = 60_000
const usual = (tries: number, random = 0.5) => computeRetryDelay(tries, { retryAfterSec: null, random })

test('nine tries: at once, then after 5 s, 30 s, 5 and 30 minutes, 2, 6, 12 and 24 hours', () => {
  const pauses = [5_000, 30_000, 5 * MINUTE, 30 * MINUTE, 120 * MINUTE, 360 * MINUTE, 720 * MINUTE, 1_440 * MINUTE]
  expect(Array.from({ length: ATTEMPTS_MAX }, (_, index) => usual(index + 1))).toEqual([...pauses, undefined])
})

test('chance changes a pause by a fifth at most', () => {
  expect(usual(1, 0)).toBe(4_000)
  expect(usual(1, 0.999999)).toBe(6_000)
})

test('a receiver may ask for a longer pause, not for a shorter one, nor for one after the last try', () => {
  expect(computeRetryDelay(1, { retryAfterSec: 60, random: 0 })).toBe(60_000)
  expect(computeRetryDelay(3, { retryAfterSec: 60, random: 0.5 })).toBe(5 * MINUTE)
  expect(computeRetryDelay(ATTEMPTS_MAX, { retryAfterSec: 60, random: 0.5 })).toBeUndefined()
})
