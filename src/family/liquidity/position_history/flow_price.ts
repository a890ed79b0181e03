import type { Address, Hex } from 'viem'
import { tryDecodeUint } from '../../../chain/call/words.ts'
import { divideSignificant, sqrtPriceAtTickX96, type TickRange } from '../../../finance/math/liquidity.ts'
import type { Pair, Prices } from '../../../finance/math/pnl/flow.ts'
import { DIRECT_PRICE_SOURCES, type UsdPrice } from '../../../finance/price/price.ts'
import { DECIMALS_MAX } from '../../../finance/token/token.ts'
import { UpstreamError } from '../../../lib/error.ts'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { pow10, Q96 } from '../../../lib/number/fixed_point.ts'
import { type Rational, rational, ZERO } from '../../../lib/number/rational.ts'
import type { PositionFlow } from './position_flow.ts'

/** Sources of a token's own price: those of the token, or for the native token those of its wrapper. */
const OWN_PRICE_SOURCES = [...DIRECT_PRICE_SOURCES, 'wrapper'] as const

/** Sources of a flow's price: those of the token's own price, or the position's pool and the other token. */
export const FLOW_PRICE_SOURCES = [...OWN_PRICE_SOURCES, 'pool'] as const

/** US dollars per whole token, exact. */
export interface FlowPrice extends Decimal {
  readonly source: (typeof FLOW_PRICE_SOURCES)[number]
}

/** A token of the position's pool. */
export interface PnlToken {
  readonly address: Address
  readonly decimals: number
  /** The token whose price counts: for the native token its wrapper; absent: the token itself. */
  readonly pricedAs?: Address
}

/** Decodes a token from its answer to `decimals`. Throws `UpstreamError` if that is no number of decimals. */
export function decodePnlToken(answer: Hex | undefined, address: Address): PnlToken {
  const count = tryDecodeUint(answer)
  if (count === undefined || count > DECIMALS_MAX) throw new UpstreamError(`Token ${address} has no usable decimals`)
  return { address, decimals: Number(count) }
}

/** Returns the token whose price counts. */
export function getPricedToken({ address, pricedAs = address }: PnlToken): Address {
  return pricedAs
}

/** The price of a token by its own sources, or why none has one. */
export type OwnPrice = OwnUsdPrice | NoOwnPrice

interface NoOwnPrice {
  /** Words after "because". */
  readonly because: string
  /** True if its sources said so of a block that stays as it is, so that none ever tells one. @default {false} */
  readonly isLasting?: boolean
}

interface OwnUsdPrice extends UsdPrice {
  readonly source: (typeof OWN_PRICE_SOURCES)[number]
}

/** A token without a price that the pool and the other token cannot supply either. */
export interface MissingPrice {
  readonly token: Address
  readonly because: string
  /** True if neither token will ever have one there. */
  readonly isLasting: boolean
}

/**
 * Prices of both tokens. One without a price of its own gets it from the pool (raw token1 per raw token0) and the other
 * token, to 18 significant digits.
 *
 * @figure usd
 * @source Chainlink `latestRoundData` at the block; `UniswapV3Pool.slot0`
 * @proof test/contract/family/uniswap_v3/pnl/lives_test.ts
 */
export function computePairPrices(
  [token0, token1]: Pair<PnlToken>,
  [own0, own1]: Pair<OwnPrice>,
  poolPrice: Rational | undefined,
): Pair<FlowPrice> | MissingPrice {
  const { numerator, denominator } = poolPrice ?? ZERO
  if ('because' in own0) {
    const isLasting = own0.isLasting === true && 'because' in own1 && own1.isLasting === true
    if ('because' in own1 || numerator === 0n) return { token: token0.address, because: own0.because, isLasting }
    return [priceByPool(own1, { from: token1, to: token0, units: [numerator, denominator] }), own1]
  }
  if (!('because' in own1)) return [own0, own1]
  if (numerator === 0n) return { token: token1.address, because: own1.because, isLasting: false }
  return [own0, priceByPool(own0, { from: token0, to: token1, units: [denominator, numerator] })]
}

/** US dollars per raw unit of both tokens. */
export function rawPrices([token0, token1]: Pair<PnlToken>, [price0, price1]: Pair<FlowPrice>): Prices {
  return [rawPrice(token0, price0), rawPrice(token1, price1)]
}

function rawPrice({ decimals }: PnlToken, { units, scale }: Decimal): Rational {
  return rational(units, pow10(scale + decimals))
}

/** Computes the price of `to` by that of `from`; `units` is raw `from` per raw `to`, [numerator, denominator]. */
function priceByPool(
  { units: priceUnits, scale }: Decimal,
  { from, to, units: [more, less] }: { readonly from: PnlToken; readonly to: PnlToken; readonly units: Pair<bigint> },
): FlowPrice {
  const price = divideSignificant(priceUnits * more * pow10(to.decimals), less * pow10(scale + from.decimals))
  return { ...price, source: 'pool' }
}

/**
 * Fewest raw units of a token that determine a price: one unit, which rounding can hide, is then a millionth of the
 * distance between the price and an end of the range.
 */
const PRICE_UNITS_MIN = 1_000_000n

/**
 * Raw token1 per raw token0 at a flow: its own price, else one computed from an increase or a decrease in range in the
 * same block: √P = √Pa + amount1 / L, or 1/√P = 1/√Pb + amount0 / L, whichever has more units. The log nearest to `row`
 * counts, those of its transaction first. Undefined without such a log: out of range, or amounts too small.
 */
export function poolPriceAt(row: PositionFlow, rows: readonly PositionFlow[], range: TickRange): Rational | undefined {
  if (row.sqrtPriceX96 !== undefined) return toPoolPrice(row.sqrtPriceX96)
  const isInOtherTransaction = (each: PositionFlow) => Number(each.transactionHash !== row.transactionHash)
  const distance = (each: PositionFlow) => Math.abs(each.logIndex - row.logIndex)
  const [nearest] = rows
    .filter((each) => each.block === row.block && hasPoolPrice(each))
    .sort((a, b) => isInOtherTransaction(a) - isInOtherTransaction(b) || distance(a) - distance(b))
  return nearest && computePrice(nearest, range)
}

/** Converts a square-root price in Q96 to raw token1 per raw token0. */
export function toPoolPrice(sqrtPriceX96: bigint): Rational {
  return square(sqrtPriceX96, Q96)
}

/** Whether a flow has the price of its pool, or is in range and large enough to compute it. */
export function hasPoolPrice({ kind, liquidity, amount0, amount1, sqrtPriceX96 }: PositionFlow): boolean {
  if (sqrtPriceX96 !== undefined) return true
  if (kind === 'collect' || liquidity === 0n || amount0 === 0n || amount1 === 0n) return false
  return amount0 >= PRICE_UNITS_MIN || amount1 >= PRICE_UNITS_MIN
}

function computePrice({ liquidity, amount0, amount1 }: PositionFlow, { tickLower, tickUpper }: TickRange): Rational {
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  if (amount1 >= amount0) return square(lower * liquidity + amount1 * Q96, Q96 * liquidity)
  return square(upper * liquidity, Q96 * liquidity + amount0 * upper)
}

function square(numerator: bigint, denominator: bigint): Rational {
  return rational(numerator * numerator, denominator * denominator)
}
