import { describe, expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { editDistance, findNearest, suggestName } from '../../../../src/lib/text/nearest.ts'

const letters = { replace: (a: string, b: string) => (a === b ? 0 : 1) }

describe('editDistance()', () => {
  test.each([
    ['', '', 0],
    ['', 'abc', 3],
    ['kitten', 'sitting', 3],
    ['chainid', 'chain_id', 1],
    ['apge', 'page', 1],
    ['ca', 'abc', 3],
    ['flaw', 'lawn', 2],
  ])('%p to %p costs %p', (from, to, cost) => {
    expect(editDistance(from, to, letters)).toBe(cost)
    expect(editDistance(to, from, letters)).toBe(cost)
  })

  test('is 0 for equal texts alone, and no more than the longer one has letters', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 })
    fc.assert(
      fc.property(word, word, (a, b) => {
        const cost = editDistance(a, b, letters)
        expect(cost === 0).toBe(a === b)
        expect(cost).toBeLessThanOrEqual(Math.max(a.length, b.length))
        expect(cost).toBeGreaterThanOrEqual(Math.abs(a.length - b.length))
      }),
    )
  })

  test('is the same within a bound, and above it otherwise', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 8 })
    fc.assert(
      fc.property(word, word, fc.integer({ min: 0, max: 4 }), (a, b, costMax) => {
        const cost = editDistance(a, b, letters)
        const bounded = editDistance(a, b, { ...letters, costMax })
        expect(cost <= costMax ? bounded : bounded > costMax).toBe(cost <= costMax ? cost : true)
      }),
    )
  })

  test('uses the given costs of steps', () => {
    expect(editDistance('abc', 'ac', { ...letters, remove: 1.5, add: 0.7 })).toBe(1.5)
    expect(editDistance('ac', 'abc', { ...letters, remove: 1.5, add: 0.7 })).toBe(0.7)
  })
})

describe('suggestName()', () => {
  const names = ['wallet', 'chain_id', 'status', 'at_block', 'at_time', 'page', 'limit', 'to']

  test.each([
    ['chainid', 'chain_id'],
    ['chainId', 'chain_id'],
    ['CHAIN_ID', 'chain_id'],
    ['wallets', 'wallet'],
    ['walelt', 'wallet'],
    ['at_blok', 'at_block'],
    ['t', 'to'],
    ['colour', undefined],
    ['address', undefined],
    ['', undefined],
  ])('for %p is %p', (text, name) => expect(suggestName(text, names)).toBe(name))
})

test('suggestName() misses no name within a third of its length, whatever letters they share', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'A', '!', 'İ'), maxLength: 9 })
  fc.assert(
    fc.property(word, word, (text, name) => {
      const distance = editDistance(text.toLowerCase(), name.toLowerCase(), letters)
      const isNear =
        distance <= Math.max(1, Math.floor(name.length / 3)) &&
        Math.abs(name.length - text.length) <= Math.max(1, Math.floor(name.length / 3))
      expect(suggestName(text, [name])).toBe(isNear ? name : undefined)
    }),
  )
})

test('suggestName() of a long text is undefined', () => {
  expect(suggestName('x'.repeat(8_000), ['wallet'])).toBeUndefined()
})

test('findNearest() returns the first of equals', () => {
  expect(findNearest([3, 1, 2, 1.0], (item) => item)).toBe(1)
  expect(findNearest([3, 1], () => undefined)).toBeUndefined()
})
