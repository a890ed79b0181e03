/**
 * 1.0001^(−2^i ÷ 2) in Q128 for each bit of a tick, as in v3-core's TickMath. A copy, because pages import no code of the
 * service.
 */
const FACTORS = [
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
]
const Q128 = 1n << 128n
const UINT256_MAX = (1n << 256n) - 1n

interface BoundedLiquidity {
  readonly liquidity: string
  readonly tickLower: string
  readonly tickUpper: string
  readonly token0: { decimals: number }
  readonly token1: { decimals: number }
}

/**
 * The amount of the single token that a position consists of at a bound of its range: the first token at its lower tick
 * and below, the second at its upper tick and above; rounded down like a withdrawal there. Whole tokens, all digits.
 * @figure explore/amount_at_bound
 * @source v3-core `SqrtPriceMath.getAmount0Delta`, `getAmount1Delta`
 * @proof test/unit/dashboard/explore/bounds_test.ts
 */
export function atBounds({ liquidity, tickLower, tickUpper, token0, token1 }: BoundedLiquidity) {
  const [lower, upper] = [computeSqrtPrice(Number(tickLower)), computeSqrtPrice(Number(tickUpper))]
  const amount = BigInt(liquidity)
  const all0 = ((amount << 96n) * (upper - lower)) / upper / lower
  const all1 = (amount * (upper - lower)) >> 96n
  return { token0: toWholeTokens(all0, token0.decimals), token1: toWholeTokens(all1, token1.decimals) }
}

/** Computes √price at a tick in Q96, like `TickMath.getSqrtRatioAtTick`. */
function computeSqrtPrice(tick: number) {
  const distance = Math.abs(tick)
  const ratio = FACTORS.reduce(
    (product, factor, bit) => (distance & (1 << bit) ? (product * factor) >> 128n : product),
    Q128,
  )
  return ((tick > 0 ? UINT256_MAX / ratio : ratio) + 0xffffffffn) >> 32n
}

/** Converts raw units to whole tokens. */
function toWholeTokens(raw: bigint, decimals: number) {
  const digits = raw.toString().padStart(decimals + 1, '0')
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  const units = digits.slice(0, digits.length - decimals)
  return decimals === 0 || fraction === '' ? units : `${units}.${fraction}`
}
