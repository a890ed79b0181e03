import { describe, expect, test } from 'bun:test'
import {
  computeReservePrice,
  computeScopePrice,
  decodePricedReserve,
  isSteadyPrice,
  readCachedPrice,
  type ScopeEntry,
} from '../../../../../src/finance/price/scope.ts'
import { rational } from '../../../../../src/lib/number/rational.ts'
import { type ReserveFixture, reserveBytes, SF, sf, toFakeAddress } from '../../../../support/kamino.ts'

const NOW = 1_700_000_000n

function entry(value: bigint, exponent: bigint, timestampSec = NOW): ScopeEntry {
  return { value, exponent, timestampSec }
}

function reserve(fixture: Omit<ReserveFixture, 'market'>) {
  return decodePricedReserve(reserveBytes({ market: toFakeAddress('market'), maxPriceAgeSec: 100n, ...fixture }))
}

describe('computeScopePrice()', () => {
  test('is the product of its chain, as old as its oldest entry', () => {
    expect(computeScopePrice([entry(15n, 1n), entry(2n, 0n, NOW - 9n), entry(5n, 2n, NOW - 3n)], NOW)).toEqual({
      price: rational(150n, 1_000n),
      timestampSec: NOW - 9n,
    })
  })

  test('may be a minute ahead of the clock, and no more', () => {
    expect(computeScopePrice([entry(5n, 0n, NOW + 60n)], NOW)?.timestampSec).toBe(NOW + 60n)
    const kept = (ahead: bigint) => readCachedPrice(reserve({ priceSf: SF, priceTimestampSec: NOW + ahead }), NOW)
    expect([kept(60n)?.timestampSec, kept(61n)]).toEqual([NOW + 60n, undefined])
  })

  test('takes the largest exponent that it can hold', () => {
    expect(computeScopePrice([entry(5n, 36n)], NOW)?.price).toEqual(rational(5n, 10n ** 36n))
  })

  test.each([
    ['an empty chain', []],
    ['a missing entry', [undefined]],
    ['a zero', [entry(0n, 8n)]],
    ['a zero further on', [entry(5n, 0n), entry(0n, 8n)]],
    ['an absurd exponent', [entry(5n, 37n)]],
    ['an exponent that would fill the memory', [entry(5n, 2n ** 64n - 1n)]],
    ['the future', [entry(5n, 0n, NOW + 61n)]],
    ['the future, behind an old one', [entry(5n, 0n, 1n), entry(5n, 0n, 2n ** 64n - 1n)]],
  ])('of %s is nothing', (_, entries) => {
    expect(computeScopePrice(entries, NOW)).toBeUndefined()
  })
})

test('readCachedPrice() returns the reserve’s own price, undefined if it is zero', () => {
  const at = (priceSf: bigint) => readCachedPrice(reserve({ priceSf, priceTimestampSec: NOW - 5n }), NOW)
  expect(at(sf('1.25'))).toEqual({ price: rational((5n * SF) / 4n, SF), timestampSec: NOW - 5n })
  expect(at(0n)).toBeUndefined()
})

describe('computeReservePrice()', () => {
  const cached = { priceSf: sf('2'), priceTimestampSec: NOW - 50n }
  const live = [entry(3n, 0n, NOW - 50n)]

  test.each([
    ['live', 100n, 'live'],
    ['too old a second later', 101n, 'cached'],
  ])('as old as the reserve allows is %s', (_, ageSec, kind) => {
    expect(computeReservePrice(reserve(cached), { entries: [entry(3n, 0n, NOW - ageSec)], nowSec: NOW }).kind).toBe(
      kind as never,
    )
  })

  test.each([
    [99n, 'cached'],
    [100n, 'none'],
  ])('cached %d s ago is %s', (ageSec, kind) => {
    const own = reserve({ ...cached, priceTimestampSec: NOW - ageSec })
    expect(computeReservePrice(own, { entries: [], nowSec: NOW }).kind).toBe(kind as never)
  })

  test('is none while the market blocks the price or is in emergency mode, even with a live price', () => {
    const asked = { entries: live, nowSec: NOW }
    const own = reserve(cached)
    expect(computeReservePrice(own, asked).kind).toBe('live')
    expect(computeReservePrice({ ...own, priceBlocked: true }, asked).kind).toBe('none')
    expect(computeReservePrice({ ...own, emergencyMode: true }, asked).kind).toBe('none')
  })

  test('of a reserve with a maximum age of 0 is a live one of the same second, never a cached one', () => {
    const own = reserve({ ...cached, priceTimestampSec: NOW, maxPriceAgeSec: 0n })
    expect(computeReservePrice(own, { entries: [entry(3n, 0n, NOW)], nowSec: NOW }).kind).toBe('live')
    expect(computeReservePrice(own, { entries: [entry(3n, 0n, NOW - 1n)], nowSec: NOW }).kind).toBe('none')
  })

  test.each(Array.from({ length: 64 }, (_, status) => status))('cached with checks %d', (priceStatus) => {
    // Loaded 1, young 2, within bounds 16 and allowed 32; 4 and 8 are about the average.
    const expected = [1, 2, 16, 32].every((bit) => (priceStatus & bit) !== 0) ? 'cached' : 'none'
    expect(computeReservePrice(reserve({ ...cached, priceStatus }), { entries: [], nowSec: NOW }).kind).toBe(expected)
    // The checks of the last refresh do not apply to a live price.
    expect(computeReservePrice(reserve({ ...cached, priceStatus }), { entries: live, nowSec: NOW }).kind).toBe('live')
  })

  test('compares bounds in the program’s fixed point, rounded down', () => {
    // A third of a dollar, and the same as a bound of 36 decimals: both are the same 2^-60ths.
    const third = [entry(1n, 0n, NOW), entry(333_333_333_333_333_333n, 18n, NOW)]
    const at = (lower: bigint) =>
      computeReservePrice(reserve({ priceBounds: { lower, upper: 0n, exponent: 18n } }), { ...asked })
    const asked = { entries: third, nowSec: NOW }
    expect(at(333_333_333_333_333_333n).kind).toBe('live')
    expect(at(333_333_333_333_333_343n).kind).toBe('none')
  })

  test('within its bounds is one that equals either, and an absent bound of 0 binds nothing', () => {
    const getKind = (priceBounds: { lower: bigint; upper: bigint; exponent: bigint }) =>
      computeReservePrice(reserve({ priceBounds }), { entries: [entry(15n, 1n, NOW)], nowSec: NOW }).kind
    const [lower, upper] = [15n, 15n]
    for (const each of [
      { lower, upper },
      { lower, upper: 0n },
      { lower: 0n, upper },
      { lower: 14n, upper: 16n },
      { lower: 0n, upper: 0n },
    ]) {
      expect(getKind({ ...each, exponent: 1n })).toBe('live')
    }
    for (const each of [
      { lower: 16n, upper: 0n },
      { lower: 0n, upper: 14n },
      { lower: 16n, upper: 99n },
      { lower: 1n, upper: 14n },
      { lower: 0n, upper: 1n },
    ]) {
      expect(getKind({ ...each, exponent: 1n })).toBe('none')
    }
    expect(getKind({ lower: 1n, upper: 0n, exponent: 37n })).toBe('none')
    // The lower bound is two dollars, and the price is one and a half.
    expect(getKind({ lower: 2n, upper: 0n, exponent: 0n })).toBe('none')
    expect(getKind({ lower: 1n, upper: 0n, exponent: 0n })).toBe('live')
    expect(getKind({ lower: 0n, upper: 1n, exponent: 0n })).toBe('none')
    const half = { entries: [entry(5n, 1n, NOW)], nowSec: NOW }
    expect(computeReservePrice(reserve({ priceBounds: { lower: 1n, upper: 0n, exponent: 0n } }), half).kind).toBe(
      'none',
    )
  })
})

describe('isSteadyPrice()', () => {
  const price = rational(100n, 1n)
  const checked = (entries: readonly ScopeEntry[], kind: 'live' | 'cached' = 'live', priceStatus = 0) => {
    const own = { ...reserve({ priceStatus }), averageCheck: { toleranceBps: 200n, maxAgeSec: 60n } }
    return isSteadyPrice(own, { kind, price }, { entries, nowSec: NOW })
  }

  test('holds while the average is young and nearer than the tolerance', () => {
    // 2 % of 100.
    expect([9_801n, 10_199n].map((units) => checked([entry(units, 2n)]))).toEqual([true, true])
    expect([9_800n, 10_200n].map((units) => checked([entry(units, 2n)]))).toEqual([false, false])
    expect([60n, 61n].map((age) => checked([entry(100n, 0n, NOW - age)]))).toEqual([true, false])
    expect(checked([])).toBe(false)
  })

  test('needs no average without a tolerance, and of a cached price the program’s own two checks', () => {
    expect(isSteadyPrice(reserve({}), { kind: 'live', price }, { entries: [], nowSec: NOW })).toBe(true)
    expect([12, 8, 4, 0].map((status) => checked([entry(100n, 0n)], 'cached', status))).toEqual([
      true,
      false,
      false,
      false,
    ])
  })
})
