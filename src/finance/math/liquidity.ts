import { type Decimal, formatExact } from '../../lib/number/decimal.ts'
import {
  divHalfAwayFromZero,
  maxBigint,
  minBigint,
  mulDivDown,
  mulDivUp,
  pow10,
  Q96,
  Q128,
  UINT256_MAX,
  wrap256,
} from '../../lib/number/fixed_point.ts'

/** Lowest and highest tick of a pool, v3-core TickMath. */
const TICK_MIN = -887_272
const TICK_MAX = 887_272

/** Significant digits of a price; a square-root price has no more than 49. */
const PRICE_DIGITS = 18

/** 1.0001^(-2^i / 2) in Q128, for each bit of the tick (v3-core TickMath.getSqrtRatioAtTick). */
const TICK_FACTORS = [
  0xfffcb933bd6fad37aa2d162d1a594001n,
  0xfff97272373d413259a46990580e213an,
  0xfff2e50f5f656932ef12357cf3c7fdccn,
  0xffe5caca7e10e4e61c3624eaa0941cd0n,
  0xffcb9843d60f6159c9db58835c926644n,
  0xff973b41fa98c081472e6896dfb254c0n,
  0xff2ea16466c96a3843ec78b326b52861n,
  0xfe5dee046a99a2a811c461f1969c3053n,
  0xfcbe86c7900a88aedcffc83b479aa3a4n,
  0xf987a7253ac413176f2b074cf7815e54n,
  0xf3392b0822b70005940c7a398e4b70f3n,
  0xe7159475a2c29b7443b29c7fa6e889d9n,
  0xd097f3bdfd2022b8845ad8f792aa5825n,
  0xa9f746462d870fdf8a65dc1f90e061e5n,
  0x70d869a156d2a1b890bb3df62baf32f7n,
  0x31be135f97d08fd981231505542fcfa6n,
  0x9aa508b5b7a84e1c677de54f3e99bc9n,
  0x5d6af8dedb81196699c329225ee604n,
  0x2216e584f5fa1ea926041bedfe98n,
  0x48a170391f7dc42444e8fa2n,
] as const

/** Raw units of both tokens. */
export interface TokenAmounts {
  readonly amount0: bigint
  readonly amount1: bigint
}

/** The bounds of a position. */
export interface TickRange {
  readonly tickLower: number
  readonly tickUpper: number
}

/** Liquidity in a range of a pool with this price. */
interface LiquidityAt extends TickRange {
  readonly sqrtPriceX96: bigint
  readonly liquidity: bigint
}

/** Q128 counters of fees per unit of liquidity, modulo 2^256. */
export interface FeeGrowth {
  readonly growth0: bigint
  readonly growth1: bigint
}

/** Most cached prices of ticks, as most ranges end at a few of them; a full cache is cleared. */
const ROOTS_MAX = 20_000
const roots = new Map<number, bigint>()

/** √price at a tick in Q96, rounded up as in v3-core TickMath. Throws `RangeError` for a tick out of bounds. */
export function sqrtPriceAtTickX96(tick: number): bigint {
  const known = roots.get(tick)
  if (known !== undefined) return known
  const root = computeRoot(tick)
  if (roots.size >= ROOTS_MAX) roots.clear()
  roots.set(tick, root)
  return root
}

function computeRoot(tick: number): bigint {
  if (!Number.isInteger(tick) || tick < TICK_MIN || tick > TICK_MAX) throw new RangeError(`Cannot use tick ${tick}`)
  const distance = Math.abs(tick)
  let ratio = Q128
  for (const [bit, factor] of TICK_FACTORS.entries()) {
    if (distance & (1 << bit)) ratio = (ratio * factor) >> 128n
  }
  if (tick > 0) ratio = UINT256_MAX / ratio
  return (ratio + 0xffffffffn) >> 32n
}

/**
 * What burning all the liquidity would pay, rounded down as in v3-core SqrtPriceMath.
 *
 * @figure uniswap-v3/amount, uniswap-v3/amounts, uniswap-v4/amount, uniswap-v4/amounts, slipstream/amount, slipstream/amounts
 * @source v3-core `SqrtPriceMath.getAmount0Delta`, `getAmount1Delta`
 * @proof test/contract/finance/math/liquidity_test.ts, test/contract/family/uniswap_v3/read_test.ts,
 *   test/contract/family/uniswap_v4/state_test.ts
 */
export function principal(position: LiquidityAt): TokenAmounts {
  const { liquidity } = position
  if (liquidity === 0n) return { amount0: 0n, amount1: 0n }
  const { lower, upper, here } = computeRoots(position)
  return {
    amount0: mulDivDown(liquidity * Q96, upper - here, upper) / here,
    amount1: mulDivDown(liquidity, here - lower, Q96),
  }
}

/**
 * What adding the liquidity costs, rounded up as in v3-core SqrtPriceMath.
 *
 * @figure uniswap-v4/amount
 * @source v3-core and v4-core `SqrtPriceMath.getAmount0Delta`, `getAmount1Delta`
 * @proof test/contract/family/uniswap_v4/pnl/lives_test.ts
 */
export function deposit(position: LiquidityAt): TokenAmounts {
  const { liquidity } = position
  const { lower, upper, here } = computeRoots(position)
  return {
    amount0: mulDivUp(mulDivUp(liquidity * Q96, upper - here, upper), 1n, here),
    amount1: mulDivUp(liquidity, here - lower, Q96),
  }
}

/** Computes √price at both bounds, and the pool's √price clamped to them. */
function computeRoots({ sqrtPriceX96, tickLower, tickUpper }: LiquidityAt) {
  const [lower, upper] = [sqrtPriceAtTickX96(tickLower), sqrtPriceAtTickX96(tickUpper)]
  return { lower, upper, here: minBigint(maxBigint(sqrtPriceX96, lower), upper) }
}

/** Whether the position earns fees at this tick: the lower bound belongs to the range, the upper does not. */
export function isInRange(tick: number, range: TickRange): boolean {
  return range.tickLower <= tick && tick < range.tickUpper
}

/** Fee growth between two ticks, modulo 2^256 (v3-core Tick.getFeeGrowthInside). */
export function feeGrowthInside(
  state: TickRange & {
    readonly tick: number
    readonly global: FeeGrowth
    readonly outsideLower: FeeGrowth
    readonly outsideUpper: FeeGrowth
  },
): FeeGrowth {
  const { tick, tickLower, tickUpper, global, outsideLower, outsideUpper } = state
  const inside = (whole: bigint, lower: bigint, upper: bigint): bigint => {
    const below = tick >= tickLower ? lower : whole - lower
    const above = tick < tickUpper ? upper : whole - upper
    return wrap256(whole - below - above)
  }
  return {
    growth0: inside(global.growth0, outsideLower.growth0, outsideUpper.growth0),
    growth1: inside(global.growth1, outsideLower.growth1, outsideUpper.growth1),
  }
}

/**
 * Whole token1 per whole token0 as decimal digits without an exponent: (√price / 2^96)² · 10^(decimals0 − decimals1),
 * to 18 significant digits, half away from zero, no trailing zeros. `inverse` gives token0 per token1.
 *
 * @figure current, lower, upper
 * @source v3-core `UniswapV3Pool.slot0`, `TickMath.getSqrtRatioAtTick`
 * @proof test/contract/finance/math/liquidity_test.ts
 */
export function formatPoolPrice(
  sqrtPriceX96: bigint,
  options: { readonly decimals0: number; readonly decimals1: number; readonly inverse?: boolean },
): string {
  const { decimals0, decimals1, inverse = false } = options
  if (sqrtPriceX96 <= 0n) return '0'
  const square = sqrtPriceX96 * sqrtPriceX96 * pow10(decimals0)
  const unit = Q96 * Q96 * pow10(decimals1)
  const { units, scale } = inverse ? divideSignificant(unit, square) : divideSignificant(square, unit)
  return formatExact(units, scale)
}

/** Current price and both bounds of a range, decimal text. */
export interface RangePrices {
  readonly current: string
  readonly lower: string
  readonly upper: string
}

/** Prices of a range as `formatPoolPrice` has them, and their inverse, whose lower and upper are swapped; roots are Q96. */
export function rangePrices(
  roots: { readonly current: bigint; readonly lower: bigint; readonly upper: bigint },
  decimals: { readonly decimals0: number; readonly decimals1: number },
): { readonly prices: RangePrices; readonly inverse: RangePrices } {
  const { current, lower, upper } = roots
  const price = (sqrtPriceX96: bigint) => formatPoolPrice(sqrtPriceX96, decimals)
  const inverse = (sqrtPriceX96: bigint) => formatPoolPrice(sqrtPriceX96, { ...decimals, inverse: true })
  return {
    prices: { current: price(current), lower: price(lower), upper: price(upper) },
    inverse: { current: inverse(current), lower: inverse(upper), upper: inverse(lower) },
  }
}

/** The positive quotient to 18 significant digits, half away from zero. */
export function divideSignificant(numerator: bigint, denominator: bigint): Decimal {
  // The lengths give the exponent of the first digit, or one more than it; the next line corrects that.
  let exponent = numerator.toString().length - denominator.toString().length
  if (compareToPower(numerator, denominator, exponent) < 0) exponent -= 1
  const shift = PRICE_DIGITS - 1 - exponent
  if (shift >= 0) return { units: divHalfAwayFromZero(numerator * pow10(shift), denominator), scale: shift }
  const step = pow10(-shift)
  return { units: divHalfAwayFromZero(numerator, denominator * step) * step, scale: 0 }
}

/** Sign of numerator / denominator − 10^exponent. */
function compareToPower(numerator: bigint, denominator: bigint, exponent: number): number {
  const left = exponent < 0 ? numerator * pow10(-exponent) : numerator
  const right = exponent > 0 ? denominator * pow10(exponent) : denominator
  return left < right ? -1 : left > right ? 1 : 0
}
