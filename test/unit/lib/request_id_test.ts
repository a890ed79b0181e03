import { describe, expect, test } from 'bun:test'
import { createRequestIdGenerator, isRequestId } from '../../../src/lib/request_id.ts'
import { createFixedClock } from '../../support/test_clock.ts'

describe('createRequestIdGenerator()', () => {
  const time = { ms: Date.UTC(2026, 0, 1) }
  const next = createRequestIdGenerator({
    clock: createFixedClock(() => time.ms),
    fill: (bytes) => crypto.getRandomValues(bytes),
  })

  test('creates req_ and 26 characters, accepted by isRequestId()', () => {
    expect(next()).toMatch(/^req_[0-9A-HJKMNP-TV-Z]{26}$/)
    expect(isRequestId(next())).toBe(true)
  })

  test('never repeats within a millisecond', () => {
    expect(new Set(Array.from({ length: 50_000 }, next)).size).toBe(50_000)
  })

  test('text order is time order', () => {
    const ids = [0, 1, 40, 1_000, 10 ** 6, 10 ** 11].map((later) => {
      time.ms = Date.UTC(2026, 0, 1) + later
      return next()
    })
    expect([...ids].sort()).toEqual(ids)
  })
})

describe('isRequestId()', () => {
  test.each([['abcdefgh'], ['A-_9'.repeat(16)]])('keeps %p', (text) => {
    expect(isRequestId(text)).toBe(true)
  })

  test.each([['short12'], ['a'.repeat(65)], ['has space1'], ['line\nbreak'], ['abcdefgh\n'], ['ümlaut-id'], ['']])(
    'drops %p',
    (text) => {
      expect(isRequestId(text)).toBe(false)
    },
  )
})
