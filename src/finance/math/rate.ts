import { createLru } from '../../lib/lru.ts'
import { pow10 } from '../../lib/number/fixed_point.ts'

/** Scale of rates: 10^27 is 100 % (Aave's ray). */
export const RAY = pow10(27)
/** Seconds of a year, for yearly rates. */
export const SECONDS_PER_YEAR = 31_536_000n
/** Highest rate that is compounded: 10,000 times the capital in a year. A higher one would give thousands of digits. */
export const APR_RAY_MAX = 10_000n * RAY

/** Most cached results of each function below. */
const REMEMBERED_MAX = 10_000

/** Fractional bits of intermediate values. After 50 products in a row and a power of 2^26, 190 are still right. */
const BITS = 224n
const ONE = 1n << BITS
/** ln 2 = 2·artanh(1/3). */
const LN2 = 2n * artanh(ONE / 3n)

/**
 * Yearly yield of a yearly rate that is compounded `periodsPerYear` times, both in ray: (1 + apr/n)^n − 1.
 * Relative error below 10^-50: yields up to 10^20 are exact to the last digit of a ray, rounded down.
 * Source: aave-utilities `calculateCompoundedRate`, which does the same in decimals. Throws `RangeError` for a rate
 * below zero or above `APR_RAY_MAX`.
 */
export function apyFromApr(aprRay: bigint, periodsPerYear: bigint = SECONDS_PER_YEAR): bigint {
  checkRate(aprRay)
  return periodsPerYear === SECONDS_PER_YEAR ? compoundBySecond(aprRay) : compound(aprRay, periodsPerYear)
}

/** Cached: callers repeat the rates of the same reserves, and one takes longer than decoding its reserve. */
const compoundBySecond = cacheResults((aprRay) => compound(aprRay, SECONDS_PER_YEAR))

function compound(aprRay: bigint, periodsPerYear: bigint): bigint {
  const base = ONE + (aprRay << BITS) / (RAY * periodsPerYear)
  return toRay(power(base, periodsPerYear) - ONE)
}

/** Yearly yield of a rate compounded continuously, both in ray: e^apr − 1. Accuracy and errors as `apyFromApr`. */
export function apyFromContinuousApr(aprRay: bigint): bigint {
  checkRate(aprRay)
  return compoundContinuously(aprRay)
}

const compoundContinuously = cacheResults((aprRay) => toRay(exp((aprRay << BITS) / RAY) - ONE))

/** Adds a cache of the last results to a function. */
function cacheResults(calculate: (aprRay: bigint) => bigint): (aprRay: bigint) => bigint {
  const results = createLru<bigint, bigint>({ entriesMax: REMEMBERED_MAX })
  return (aprRay) => {
    const cached = results.get(aprRay)
    if (cached !== undefined) return cached
    const value = calculate(aprRay)
    results.set(aprRay, value)
    return value
  }
}

function checkRate(aprRay: bigint): void {
  if (aprRay < 0n || aprRay > APR_RAY_MAX) {
    throw new RangeError('Cannot compound a rate: expected 0 to 10,000 times the capital in a year')
  }
}

function multiply(a: bigint, b: bigint): bigint {
  return (a * b) >> BITS
}

/** Converts to ray, rounded down. 2^-64, far more than the errors so far, is added first: exact values stay exact. */
function toRay(value: bigint): bigint {
  return (value * RAY + (1n << (BITS - 64n))) >> BITS
}

/** base^exponent by squaring. */
function power(base: bigint, exponent: bigint): bigint {
  let result = ONE
  let square = base
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = multiply(result, square)
    if (rest > 1n) square = multiply(square, square)
  }
  return result
}

/** e^x for x ≥ 0: powers of two are taken out, the rest is halved 16 times and its series summed. */
function exp(x: bigint): bigint {
  const halvings = 16n
  const doublings = x / LN2
  const small = (x - doublings * LN2) >> halvings
  let term = ONE
  let sum = ONE
  for (let n = 1n; term > 0n; n++) {
    term = multiply(term, small) / n
    sum += term
  }
  for (let n = 0n; n < halvings; n++) sum = multiply(sum, sum)
  return sum << doublings
}

/** artanh of at most 1/3: z + z³/3 + z⁵/5 + … */
function artanh(z: bigint): bigint {
  const square = multiply(z, z)
  let power = z
  let sum = 0n
  for (let n = 1n; power > 0n; n += 2n) {
    sum += power / n
    power = multiply(power, square)
  }
  return sum
}
