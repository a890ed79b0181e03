import { expect, test } from 'bun:test'
import { createUnknownKeyLimiter } from '../../../../src/account/gate/key_cache.ts'
import { createTestClock } from '../../../support/test_clock.ts'

function createLimiter(max: number) {
  const clock = createTestClock()
  const limiter = createUnknownKeyLimiter({ clock, max })
  const lookUp = (hash: string, isStranger: boolean): boolean => {
    if (!limiter.acquire(hash)) return false
    limiter.release(hash, { isStranger })
    return true
  }
  return { clock, limiter, lookUp }
}

test('a key that turned out unknown counts for the rest of its second, a known one only while it is looked up', async () => {
  const { clock, lookUp } = createLimiter(3)
  await clock.advance(1_000)
  for (const known of ['a', 'b', 'c', 'd']) expect(lookUp(known, false)).toBe(true)
  for (const unknown of ['e', 'f', 'g']) expect(lookUp(unknown, true)).toBe(true)
  expect(lookUp('h', true)).toBe(false)
  await clock.advance(999)
  expect(lookUp('h', true)).toBe(false)
  await clock.advance(1)
  expect(lookUp('h', true)).toBe(true)
})

test('requests with a key that is looked up share its place, to the last of them', () => {
  const { limiter } = createLimiter(1)
  for (let request = 0; request < 3; request++) expect(limiter.acquire('a')).toBe(true)
  for (let request = 0; request < 3; request++) {
    expect(limiter.acquire('b')).toBe(false)
    limiter.release('a', { isStranger: false })
  }
  expect(limiter.acquire('b')).toBe(true)
})
