import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  APR_RAY_MAX,
  apyFromApr,
  apyFromContinuousApr,
  RAY,
  SECONDS_PER_YEAR,
} from '../../../../src/finance/math/rate.ts'
import { caseCount } from '../../../support/cases.ts'

/** 10^180: decimal places of the references, in another base and by other series than the code. */
const PLACES = 10n ** 180n

/** (1 + x/n)^n − 1 by the binomial theorem, rounded down to a ray. */
function binomial(aprRay: bigint, periods: bigint): bigint {
  let term = PLACES
  let sum = 0n
  for (let k = 1n; k <= periods && term > 0n; k++) {
    term = (term * aprRay * (periods - k + 1n)) / (RAY * periods * k)
    sum += term
  }
  return (sum * RAY) / PLACES
}

/** e^x − 1 by its power series, rounded down to a ray. */
function exponential(aprRay: bigint): bigint {
  let term = PLACES
  let sum = 0n
  for (let k = 1n; term > 0n; k++) {
    term = (term * aprRay) / (RAY * k)
    sum += term
  }
  return (sum * RAY) / PLACES
}

const rates = fc.oneof(
  fc.bigInt(0n, RAY / 1000n),
  fc.bigInt(0n, RAY),
  fc.bigInt(0n, 20n * RAY),
  fc.constantFrom(0n, 1n, RAY, RAY / 10n, 40n * RAY),
)
const periods = fc.constantFrom(1n, 2n, 12n, 365n, SECONDS_PER_YEAR, 63_072_000n)

describe('apyFromApr()', () => {
  test('is exact to the last digit for yields up to 10^20', () => {
    fc.assert(
      fc.property(rates, periods, (aprRay, n) => {
        expect(apyFromApr(aprRay, n)).toBe(binomial(aprRay, n))
      }),
      { numRuns: caseCount(400) },
    )
  })

  test('agrees with double precision within its accuracy', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-6, max: 20, noNaN: true }), (apr) => {
        const apy = Number(apyFromApr(BigInt(Math.round(apr * 1e15)) * 10n ** 12n)) / 1e27
        const double = Math.expm1(31_536_000 * Math.log1p(Math.round(apr * 1e15) / 1e15 / 31_536_000))
        expect(Math.abs(apy / double - 1)).toBeLessThan(1e-9)
      }),
    )
  })

  test('keeps the digits of a tiny rate, where a power of doubles loses them', () => {
    const apy = apyFromApr(RAY / 10_000n, 63_072_000n)
    expect(apy).toBe(100_005_000_166_591_551_008_864n)
    expect(Math.abs((1 + 1e-4 / 63_072_000) ** 63_072_000 - 1 - Number(apy) / 1e27)).toBeGreaterThan(1e-10)
  })

  test('is zero for a zero rate, and the rate itself for one period', () => {
    expect(apyFromApr(0n)).toBe(0n)
    fc.assert(fc.property(fc.bigInt(0n, APR_RAY_MAX), (apr) => expect(apyFromApr(apr, 1n)).toBe(apr)))
  })

  test('grows with the rate and with the number of periods', () => {
    fc.assert(
      fc.property(fc.bigInt(10n ** 12n, 5n * RAY), fc.bigInt(10n ** 12n, RAY), (apr, more) => {
        expect(apyFromApr(apr + more) > apyFromApr(apr)).toBe(true)
        expect(apyFromApr(apr, 365n) >= apyFromApr(apr, 12n)).toBe(true)
        expect(apyFromContinuousApr(apr) >= apyFromApr(apr)).toBe(true)
      }),
    )
  })

  test('accepts the largest rate and refuses a higher or a negative one', () => {
    expect(apyFromApr(APR_RAY_MAX).toString().length).toBeGreaterThan(4000)
    expect(() => apyFromApr(APR_RAY_MAX + 1n)).toThrow(RangeError)
    expect(() => apyFromApr(-1n)).toThrow(RangeError)
  })
})

describe('apyFromContinuousApr()', () => {
  test('is exact to the last digit for yields up to 10^20', () => {
    fc.assert(
      fc.property(rates, (aprRay) => {
        expect(apyFromContinuousApr(aprRay)).toBe(exponential(aprRay))
      }),
      { numRuns: caseCount(400) },
    )
  })

  test('of 1 is e − 1', () => {
    expect(apyFromContinuousApr(RAY)).toBe(1_718_281_828_459_045_235_360_287_471n)
  })
})
