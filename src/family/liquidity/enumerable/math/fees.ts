import type { FeeGrowth, TokenAmounts } from '../../../../finance/math/liquidity.ts'
import type { Pair } from '../../../../finance/math/pnl/flow.ts'
import { minBigint, mulDivDown, Q128, UINT128_MAX, wrap256 } from '../../../../lib/number/fixed_point.ts'

/**
 * Amounts that the manager counts as owed now: owed at the position's last update plus the growth since then, modulo
 * 2^128 as the manager stores it (v3-periphery NonfungiblePositionManager.collect, v3-core Position.update).
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

/** What a pool stores of its own position of the manager in a range, which all ids of that range share. */
export interface SharedRange {
  readonly liquidity: bigint
  readonly insideLast: FeeGrowth
  readonly owed: TokenAmounts
}

/**
 * What `collect` would pay of the amounts that the manager counts: at most what the pool owes the manager for the range.
 * The pool rounds down whenever any id of the range is touched, the manager once for each id, so that the pool may owe
 * some units less than the manager counts. `collect` settles the range of a position with liquidity first, and of one
 * without never. A pool that stores less liquidity than the position has, or nothing at all, keeps its positions in
 * another way: then the manager's amounts count. Source: v3-core `UniswapV3Pool.collect`, v3-periphery
 * `NonfungiblePositionManager.collect`.
 */
export function capByPool(
  counted: TokenAmounts,
  {
    liquidity,
    inside,
    shared,
  }: {
    readonly liquidity: bigint
    /** Fee growth inside the range; undefined without liquidity. */
    readonly inside: FeeGrowth | undefined
    readonly shared: SharedRange
  },
): TokenAmounts {
  if (shared.liquidity < liquidity || isEmpty(shared)) return counted
  const payable = inside === undefined ? shared.owed : collectable({ ...shared, inside })
  return {
    amount0: minBigint(counted.amount0, payable.amount0),
    amount1: minBigint(counted.amount1, payable.amount1),
  }
}

function isEmpty({ liquidity, insideLast, owed }: SharedRange): boolean {
  return [liquidity, insideLast.growth0, insideLast.growth1, owed.amount0, owed.amount1].every((each) => each === 0n)
}

/** True if the manager stores an amount as owed to a position: fees, withdrawn principal or both. */
export function isOwed({ owed }: { readonly owed: TokenAmounts }): boolean {
  return owed.amount0 + owed.amount1 > 0n
}

/**
 * What `collect` would pay, by what it is. Fees: all that it would pay, at most what the pool owes the manager for the
 * range, less principal that was withdrawn (`DecreaseLiquidity`) and not collected (`Collect`, which pays principal
 * first). The manager keeps one sum of both, so without flows this is known only if it keeps nothing: then all is growth
 * since the position's last update.
 *
 * @figure uncollected_fees, withdrawn_principal
 * @source v3-periphery `NonfungiblePositionManager.collect`, `positions`; v3-core `UniswapV3Pool.positions`
 * @proof test/unit/family/uniswap_v3/present_test.ts, test/contract/family/uniswap_v3/shared_range_test.ts, test/contract/family/uniswap_v3/pnl/full_test.ts
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
  // The pool may owe less than both: what lacks is taken from the fees first.
  const withdrawn = { amount0: minBigint(principal0, owed.amount0), amount1: minBigint(principal1, owed.amount1) }
  return {
    fees: { amount0: owed.amount0 - withdrawn.amount0, amount1: owed.amount1 - withdrawn.amount1 },
    withdrawn,
  }
}
