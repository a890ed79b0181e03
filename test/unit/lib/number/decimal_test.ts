import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { formatExact, formatFixed, rescale } from '../../../../src/lib/number/decimal.ts'

describe('formatExact()', () => {
  test.each([
    [0n, 18, '0'],
    [0n, 0, '0'],
    [1n, 18, '0.000000000000000001'],
    [1_500_000n, 6, '1.5'],
    [100n, 0, '100'],
    [100n, 2, '1'],
    [-5n, 1, '-0.5'],
    [-10n, 1, '-1'],
    [123n, 36, '0.000000000000000000000000000000000123'],
    [2n ** 256n - 1n, 0, '115792089237316195423570985008687907853269984665640564039457584007913129639935'],
  ])('of %p at scale %p is %p', (units, scale, text) => {
    expect(formatExact(units, scale)).toBe(text)
  })

  test('is read back to the same number', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 256n), max: 2n ** 256n }), fc.nat(77), (units, scale) => {
        const text = formatExact(units, scale)
        expect(text).toMatch(/^-?(0|[1-9]\d*)(\.\d*[1-9])?$/)
        const [whole = '', fraction = ''] = text.replace('-', '').split('.')
        const magnitude = BigInt(whole + fraction.padEnd(scale, '0'))
        expect(text.startsWith('-') ? -magnitude : magnitude).toBe(units)
      }),
    )
  })
})

describe('formatFixed()', () => {
  test.each([
    [1_234_567n, 6, 6, '1.234567'],
    [5n, 1, 0, '1'],
    [-5n, 1, 0, '-1'],
    [4n, 1, 0, '0'],
    [-4n, 1, 0, '0'],
    [12_345n, 4, 2, '1.23'],
    [12_350n, 4, 2, '1.24'],
    [-12_350n, 4, 2, '-1.24'],
    [7n, 0, 6, '7.000000'],
    [999_999_5n, 7, 6, '1.000000'],
  ])('of %p at scale %p with %p digits is %p', (units, scale, digits, text) => {
    expect(formatFixed(units, { scale, digits })).toBe(text)
  })

  test('toward zero never overstates', () => {
    expect(formatFixed(19_999n, { scale: 4, digits: 3, rounding: 'toward_zero' })).toBe('1.999')
    expect(formatFixed(-19_999n, { scale: 4, digits: 3, rounding: 'toward_zero' })).toBe('-1.999')
  })
})

describe('rescale()', () => {
  test('is exact upwards and rounds downwards', () => {
    expect(rescale(15n, { from: 1, to: 3, rounding: 'toward_zero' })).toBe(1500n)
    expect(rescale(15n, { from: 1, to: 0, rounding: 'half_away_from_zero' })).toBe(2n)
    expect(rescale(15n, { from: 1, to: 0, rounding: 'toward_zero' })).toBe(1n)
  })
})
