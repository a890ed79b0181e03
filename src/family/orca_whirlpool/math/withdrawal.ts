import type { TokenAmounts } from '../../../finance/math/liquidity.ts'
import type { Whirlpool, WhirlpoolPosition } from './state.ts'
import { sqrtPriceAtTickX64 } from './tick.ts'

/**
 * Payout of withdrawing all liquidity before transfer fees, rounded down. The pool's tick decides on which side of the
 * price the range is.
 *
 * @figure orca-whirlpool/amount, orca-whirlpool/amounts
 * @source Whirlpool `decrease_liquidity`, `math/token_math.rs`
 * @proof test/unit/family/orca_whirlpool/vectors_test.ts, test/unit/family/orca_whirlpool/rules_test.ts
 */
export function computeWithdrawal(
  { tick, sqrtPriceX64 }: Pick<Whirlpool, 'tick' | 'sqrtPriceX64'>,
  { liquidity, tickLower, tickUpper }: Pick<WhirlpoolPosition, 'liquidity' | 'tickLower' | 'tickUpper'>,
): TokenAmounts {
  if (liquidity === 0n) return { amount0: 0n, amount1: 0n }
  const [lower, upper] = [sqrtPriceAtTickX64(tickLower), sqrtPriceAtTickX64(tickUpper)]
  const clampedSqrtPriceX64 = tick < tickLower ? lower : tick < tickUpper ? sqrtPriceX64 : upper
  return {
    amount0: ((liquidity * (upper - clampedSqrtPriceX64)) << 64n) / (upper * clampedSqrtPriceX64),
    amount1: (liquidity * (clampedSqrtPriceX64 - lower)) >> 64n,
  }
}
