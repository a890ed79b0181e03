import type { Address } from 'viem'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { pow10, Q96 } from '../../../lib/number/fixed_point.ts'
import { divideSignificant, sqrtPriceAtTickX96 } from '../../math/liquidity.ts'
import { type NoPrice, noPriceBecause, type PriceMark, type UsdPrice } from '../price.ts'
import type { PoolRow } from './abi.ts'
import { computeFlatDepth, type Look, orient, type Standing } from './depth.ts'
import { decidePrice, type PoolVoice, takeMedian, USD_DIGITS } from './vote.ts'

/**
 * Revision of the rule by which pools price tokens: stored figures that rest on such prices name it in their key. 1: the
 * richest pool; 2: depth.
 */
export const PRICE_RULE_REVISION = 2

/** A price derived from pools. */
interface PoolPrice {
  readonly kind: 'price'
  /** For assets. */
  readonly price: UsdPrice
  /** For debts: at least as large. */
  readonly debtPrice: UsdPrice
  /** Most that all assets of the token on the chain may count, US dollars: what its pools pay for it. */
  readonly boundUsd: Decimal
  /**
   * What lacks, in the order of `PRICE_MARKS`. `thin`: little stands in the pools. `young`: no endpoint tells what stood
   * in them; assets do not count. `moved`: the price of the last minutes is another. `disputed`: what stood at some
   * moments says another price. `one_sided`: there are bids alone.
   */
  readonly marks: readonly PriceMark[]
  /** The pools that agree on the price. */
  readonly pools: readonly Address[]
}

/** The price of a token by its pools, or why there is none. */
export type PoolPriceOutcome = PoolPrice | NoPrice

/** A quote token with its price. */
export interface PricedQuote {
  readonly address: Address
  readonly decimals: number
  readonly price: UsdPrice
}

/** What is known of a pool of a token. */
export interface PoolReading {
  readonly row: PoolRow
  readonly quote: PricedQuote
  /** Undefined if the pool has no past. */
  readonly standing: Standing | undefined
  /** Now first, then the earlier ones; a single one if earlier states are not known. */
  readonly looks: readonly Look[]
  /** Square root of the token's price now, Q96; undefined if the pool is not there. */
  readonly spotX96: bigint | undefined
  /** False if nothing tells what stood before. */
  readonly hasPast: boolean
}

const NO_POOL = noPriceBecause('nobody prices it, and no pool of it with a token that has a feed is known')
/** The outcome for a token whose pools tell nothing. */
export const POOLS_GONE: NoPrice = { ...noPriceBecause('nothing stands in its pools', 'thin'), marks: ['gone'] }

/**
 * The price of a token by its pools of Uniswap V3, with 18 significant digits: 1.0001^tick quote tokens, at their price.
 *
 * @figure token0_price, token1_price
 * @source v3-periphery `OracleLibrary.consult`, `getQuoteAtTick` for the price of a pool; `decidePrice`
 * @proof test/contract/finance/price/pool/attacks_test.ts, test/contract/finance/price/pool/worlds_test.ts
 */
export function computePoolPrice(
  token: { readonly decimals: number },
  pools: readonly PoolReading[],
): PoolPriceOutcome {
  if (pools.length === 0) return NO_POOL
  if (pools.some(({ hasPast }) => !hasPast)) return computeYoungPrice(token, pools)
  const verdict = decidePrice(pools.map((pool) => toVoice(token, pool)))
  if (verdict === undefined) return POOLS_GONE
  const { price, debtPrice, bound, marks, pools: agreeing } = verdict
  return {
    kind: 'price',
    price: toPoolUsdPrice(price),
    debtPrice: toPoolUsdPrice(debtPrice),
    boundUsd: { units: bound, scale: USD_DIGITS },
    marks,
    pools: agreeing,
  }
}

/** Spot, which a stranger can move: enough for a debt that is marked, nothing for an asset. */
function computeYoungPrice(token: { readonly decimals: number }, pools: readonly PoolReading[]): PoolPriceOutcome {
  const votes = (weigh: (look: Look) => bigint) =>
    pools.flatMap(({ spotX96, looks: [now], row, quote }) => {
      const weight = now === undefined ? 0n : toUsd(weigh(now), quote)
      if (spotX96 === undefined || weight === 0n) return []
      return [{ price: toRootPrice(token, { sqrtX96: spotX96, quote }), weight, pool: row.pool }]
    })
  const voters = [votes(({ two }) => two), votes(({ half }) => half)].find(({ length }) => length > 0) ?? []
  const spot = takeMedian(voters)
  if (spot === undefined) return POOLS_GONE
  const price = toPoolUsdPrice(spot)
  const boundUsd = { units: 0n, scale: 0 }
  return { kind: 'price', price, debtPrice: price, boundUsd, marks: ['young'], pools: voters.map(({ pool }) => pool) }
}

function toVoice(token: { readonly decimals: number }, { row, quote, standing, looks }: PoolReading): PoolVoice {
  const flat = standing === undefined ? { near: 0n, half: 0n } : computeFlatDepth(standing)
  const bids = looks.flatMap(({ bestBidX96 }) => bestBidX96 ?? 0n)
  const bestBid = takeSecond(bids)
  const toTickPrice = (tick: number) => computeTickPrice(token, { tick, isToken1: row.isToken1, quote })
  return {
    pool: row.pool,
    mean: standing && toTickPrice(standing.meanTick),
    recent: standing && toTickPrice(standing.recentTick),
    bestBid: bestBid === 0n ? undefined : toRootPrice(token, { sqrtX96: bestBid, quote }),
    stood: toUsd(flat.near, quote),
    seen: toUsd(takeSecond(looks.map(({ two }) => two)), quote),
    half: toUsd(takeSecond(looks.map(({ half }) => half)), quote),
    stoodHalf: toUsd(flat.half, quote),
  }
}

/** The second smallest of four looks, so that one of them may fail; the smallest of fewer. */
function takeSecond(amounts: readonly bigint[]): bigint {
  const ascending = amounts.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return ascending[amounts.length >= 4 ? 1 : 0] ?? 0n
}

/** US dollars of quote tokens, with `USD_DIGITS` digits, rounded down. */
export function toUsd(raw: bigint, { decimals, price }: Pick<PricedQuote, 'decimals' | 'price'>): bigint {
  return (raw * price.units * pow10(USD_DIGITS)) / pow10(decimals + price.scale)
}

/** The price at a tick that rises with it; exact as `OracleLibrary`, whose tick is the pool's own. */
function computeTickPrice(
  { decimals }: { readonly decimals: number },
  { tick, isToken1, quote }: { readonly tick: number; readonly isToken1: boolean; readonly quote: PricedQuote },
): Decimal {
  const sqrt = sqrtPriceAtTickX96(orient(tick, isToken1))
  const [square, unit] = [sqrt * sqrt, 1n << 192n]
  const [numerator, denominator] = isToken1 ? [unit, square] : [square, unit]
  return divideSignificant(
    numerator * pow10(decimals) * quote.price.units,
    denominator * pow10(quote.decimals + quote.price.scale),
  )
}

function toRootPrice(
  { decimals }: { readonly decimals: number },
  { sqrtX96, quote }: { readonly sqrtX96: bigint; readonly quote: PricedQuote },
): Decimal {
  return divideSignificant(
    sqrtX96 * sqrtX96 * pow10(decimals) * quote.price.units,
    Q96 * Q96 * pow10(quote.decimals + quote.price.scale),
  )
}

function toPoolUsdPrice(price: Decimal): UsdPrice {
  return { ...price, source: 'pool' }
}
