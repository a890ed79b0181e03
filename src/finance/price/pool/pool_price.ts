import type { Address } from 'viem'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { pow10 } from '../../../lib/number/fixed_point.ts'
import { divideSignificant, sqrtPriceAtTickX96 } from '../../math/liquidity.ts'
import { type NoPrice, noPriceBecause, type UsdPrice, usdValue } from '../price.ts'
import type { RawQuotePool } from './abi.ts'

/** A price derived from a pool. */
export interface PoolPrice {
  readonly kind: 'price'
  readonly price: UsdPrice
  readonly pool: Address
  /**
   * Value of the quote tokens in the pool, US dollars. Rows of the token with a larger total value must not be counted,
   * because the pool could not pay that much.
   */
  readonly liquidityUsd: Decimal
}

/** The price of a token by a pool, or why there is none. */
export type PoolPriceOutcome = PoolPrice | NoPrice

/** A quote token with its price. */
export interface PricedQuote {
  readonly address: Address
  readonly decimals: number
  readonly price: UsdPrice
}

/** Length of the averaging window, seconds. */
export const WINDOW_SEC = 1_800
/** US dollars of quote tokens below which a pool yields no price. */
const LIQUIDITY_USD_MIN = 50_000n
/** Largest distance in ticks between the pool's price and its mean, about 5 %. */
const TICKS_APART_MAX = 500

/**
 * The price of a token by a pool of Uniswap V3: 1.0001^(mean tick of half an hour) quote tokens, at their price, with 18
 * significant digits. Refused if the pool holds too little, is too young to tell a mean, or stands far from it.
 *
 * @figure token0_price, token1_price
 * @source v3-periphery `OracleLibrary.consult`, `getQuoteAtTick`
 * @proof test/finance/price/pool/pool_price_test.ts
 */
export function computePoolPrice(
  token: Pick<PricedQuote, 'address' | 'decimals'>,
  { pool, quoteRaw, tick, cumulative }: RawQuotePool,
  quote: PricedQuote,
): PoolPriceOutcome {
  const liquidityUsd = usdValue(quoteRaw, quote)
  if (liquidityUsd.units < LIQUIDITY_USD_MIN * pow10(liquidityUsd.scale)) {
    return noPriceBecause(`its pool ${pool} holds less than ${LIQUIDITY_USD_MIN} US dollars`, 'thin')
  }
  if (cumulative === undefined) {
    return noPriceBecause(`its pool ${pool} does not remember the last ${WINDOW_SEC / 60} minutes`, 'young')
  }
  const mean = computeMeanTick(cumulative)
  if (Math.abs(tick - mean) > TICKS_APART_MAX) {
    return noPriceBecause(`the price in its pool ${pool} has just moved by more than 5 %`, 'moved')
  }
  const sqrt = sqrtPriceAtTickX96(mean)
  const [square, unit] = [sqrt * sqrt, 1n << 192n]
  const isToken0 = BigInt(token.address) < BigInt(quote.address)
  const [numerator, denominator] = isToken0 ? [square, unit] : [unit, square]
  const price = divideSignificant(
    numerator * pow10(token.decimals) * quote.price.units,
    denominator * pow10(quote.decimals + quote.price.scale),
  )
  return { kind: 'price', price: { ...price, source: 'pool' }, pool, liquidityUsd }
}

/** True if a value exceeds the value of the quote tokens in the pool. */
export function exceedsLiquidity(valueUsd: Decimal, { liquidityUsd }: Pick<PoolPrice, 'liquidityUsd'>): boolean {
  return valueUsd.units * pow10(liquidityUsd.scale) > liquidityUsd.units * pow10(valueUsd.scale)
}

/** Computes the mean tick, rounded down as in `OracleLibrary`. Sums wrap around at 56 bits. */
function computeMeanTick({ first, last }: NonNullable<RawQuotePool['cumulative']>): number {
  const [sum, seconds] = [BigInt.asIntN(56, last - first), BigInt(WINDOW_SEC)]
  const remainder = ((sum % seconds) + seconds) % seconds
  return Number((sum - remainder) / seconds)
}
