import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  compareRational,
  formatRational,
  leastCommonMultiple,
  parseRational,
  rational,
} from '../../../../src/lib/number/rational.ts'

describe('formatRational()', () => {
  test.each([
    [1n, 3n, '0.3333', '0.3333'],
    [2n, 3n, '0.6667', '0.6666'],
    [-2n, 3n, '-0.6667', '-0.6666'],
    [1n, 20_000n, '0.0001', '0.0000'],
    [-1n, 20_000n, '-0.0001', '0.0000'],
    [-1n, 20_001n, '0.0000', '0.0000'],
    [19_999n, 10_000n, '1.9999', '1.9999'],
    [0n, 7n, '0.0000', '0.0000'],
    [10n ** 60n, 1n, `${10n ** 60n}.0000`, `${10n ** 60n}.0000`],
  ])('of %p / %p is %p, and %p towards zero', (numerator, denominator, rounded, cut) => {
    const value = rational(numerator, denominator)
    expect(formatRational(value, { digits: 4 })).toBe(rounded)
    expect(formatRational(value, { digits: 4, rounding: 'toward_zero' })).toBe(cut)
  })
})

describe('parseRational()', () => {
  test.each([
    ['1.5', 15n, 10n],
    ['100', 100n, 1n],
    ['0.000000000000000001', 1n, 10n ** 18n],
    ['007', 7n, 1n],
  ])('of %p is exact', (text, numerator, denominator) => {
    expect(parseRational(text)).toEqual({ numerator, denominator })
  })

  test.each(['', '.5', '1.', '-1', '+1', '1e3', '1,5', ' 1', '١', '1.5.0', `1.${'0'.repeat(19)}`, 'Infinity'])(
    'of %p is nothing',
    (text) => {
      expect(parseRational(text)).toBeUndefined()
    },
  )
})

test('rational() refuses a denominator of zero or less', () => {
  expect(() => rational(1n, 0n)).toThrow(RangeError)
  expect(() => rational(1n, -1n)).toThrow(RangeError)
})

test('compareRational() is exact where floats are not', () => {
  const big = 10n ** 40n
  expect(compareRational(rational(big, big + 1n), rational(big - 1n, big))).toBe(1)
  expect(compareRational(rational(1n, 3n), rational(2n, 6n))).toBe(0)
  expect(compareRational(rational(-1n, 2n), rational(1n, 3n))).toBe(-1)
})

test('leastCommonMultiple() is the smallest number divisible by both', () => {
  fc.assert(
    fc.property(fc.bigInt(1n, 10n ** 30n), fc.bigInt(1n, 10n ** 30n), (a, b) => {
      const multiple = leastCommonMultiple(a, b)
      expect([multiple % a, multiple % b, leastCommonMultiple(multiple / a, multiple / b)]).toEqual([
        0n,
        0n,
        (multiple / a) * (multiple / b),
      ])
    }),
  )
})
