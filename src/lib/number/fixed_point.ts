/** 10^18: Morpho's scale of rates, fees and loan-to-values, and Aave's of health factors. */
export const WAD = 10n ** 18n
/** 2^60: Kamino's scale of amounts, rates and prices. */
export const Q60 = 1n << 60n
/** 2^96: Uniswap's scale of square-root prices. */
export const Q96 = 1n << 96n
/** 2^128: Uniswap's scale of fee growth. */
export const Q128 = 1n << 128n
/** Largest `uint128`. */
export const UINT128_MAX = Q128 - 1n
/** Largest `uint256`. */
export const UINT256_MAX = (1n << 256n) - 1n

/** ⌊a·b / divisor⌋ for non-negative values; exact, as bigints do not overflow. */
export function mulDivDown(a: bigint, b: bigint, divisor: bigint): bigint {
  return (a * b) / divisor
}

/** ⌈a·b / divisor⌉ for non-negative values. */
export function mulDivUp(a: bigint, b: bigint, divisor: bigint): bigint {
  const product = a * b
  return product === 0n ? 0n : (product - 1n) / divisor + 1n
}

/** The smaller of two bigints. */
export function minBigint(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** The larger of two bigints. */
export function maxBigint(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}

/** numerator / divisor rounded half away from zero; `divisor` above zero. */
export function divHalfAwayFromZero(numerator: bigint, divisor: bigint): bigint {
  const half = divisor / 2n
  return numerator < 0n ? -((-numerator + half) / divisor) : (numerator + half) / divisor
}

/** The value modulo 2^256, like a contract's unchecked arithmetic. */
export function wrap256(value: bigint): bigint {
  return BigInt.asUintN(256, value)
}

/** Powers of ten below 2^256. */
const POWERS = Array.from({ length: 78 }, (_, exponent) => 10n ** BigInt(exponent))

/** 10^exponent. */
export function pow10(exponent: number): bigint {
  return POWERS[exponent] ?? 10n ** BigInt(exponent)
}
