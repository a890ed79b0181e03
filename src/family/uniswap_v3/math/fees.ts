import type { FeeGrowth, TokenAmounts } from '../../../finance/math/liquidity.ts'
import type { Pair } from '../../../finance/math/pnl/flow.ts'
import { mulDivDown, Q128, UINT128_MAX, wrap256 } from '../../../lib/number/fixed_point.ts'

/**
 * Amounts that `collect` would pay now: owed at the position's last update plus the growth since then, modulo 2^128 as
 * the manager stores it (v3-periphery NonfungiblePositionManager.collect, v3-core Position.update).
 */
export function collectable(position: {
  readonly liquidity: bigint
  readonly owed: TokenAmounts
  readonly inside: FeeGrowth
  readonly insideLast: FeeGrowth
}): TokenAmounts {
  const { liquidity, owed, inside, insideLast } = position
  const fees = (due: bigint, now: bigint, last: bigint): bigint =>
    (due + mulDivDown(wrap256(now - last), liquidity, Q128)) & UINT128_MAX
  return {
    amount0: fees(owed.amount0, inside.growth0, insideLast.growth0),
    amount1: fees(owed.amount1, inside.growth1, insideLast.growth1),
  }
}

/**
 * What `collect` would pay, by what it is. Fees: all that it would pay, less principal that was withdrawn
 * (`DecreaseLiquidity`) and not collected (`Collect`, which pays principal first). The manager keeps one sum of both, so
 * without flows this is known only if it keeps nothing: then all is growth since the position's last update.
 *
 * @figure uncollected_fees, withdrawn_principal
 * @source v3-periphery `NonfungiblePositionManager.collect`, `positions`
 * @proof test/unit/family/uniswap_v3/present_test.ts, test/contract/family/uniswap_v3/pnl/full_test.ts
 */
export function splitOwed(
  owed: TokenAmounts,
  state: {
    /** Amounts that the manager stores as owed. */
    readonly stored: TokenAmounts
    /** Principal withdrawn and not collected; undefined if the flows are not known. */
    readonly withdrawn: Pair<bigint> | undefined
  },
): { readonly fees: TokenAmounts; readonly withdrawn: TokenAmounts } | undefined {
  const { amount0, amount1 } = state.stored
  const [principal0, principal1] = state.withdrawn ?? [0n, 0n]
  if (state.withdrawn === undefined && (amount0 > 0n || amount1 > 0n)) return undefined
  return {
    fees: { amount0: owed.amount0 - principal0, amount1: owed.amount1 - principal1 },
    withdrawn: { amount0: principal0, amount1: principal1 },
  }
}
