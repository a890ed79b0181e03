import {
  type FeeGrowth,
  feeGrowthInside,
  principal,
  type TickRange,
  type TokenAmounts,
} from '../../../finance/math/liquidity.ts'
import type { Pair } from '../../../finance/math/pnl/flow.ts'
import type { PricedToken } from '../../../finance/token/priced_token.ts'
import { minBigint, mulDivDown, Q128, UINT128_MAX, wrap256 } from '../../../lib/number/fixed_point.ts'

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
interface SharedRange {
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

/** Inputs of a position's figures, at one block. */
interface FigureInput extends TickRange {
  readonly pool: { readonly sqrtPriceX96: bigint; readonly tick: number; readonly global: FeeGrowth }
  readonly token0: PricedToken
  readonly token1: PricedToken
  readonly liquidity: bigint
  /** Amounts that the manager stores as owed, and the fee growth inside the range up to which it counted them. */
  readonly owed: TokenAmounts
  readonly insideLast: FeeGrowth
  readonly shared: SharedRange
  /** What holds it for its owner; undefined if the owner does. */
  readonly custodian?: { readonly takesFees?: true } | undefined
  /** Fee growth outside both ends of the range; undefined without liquidity, because nothing is earned then. */
  readonly outside: { readonly lower: FeeGrowth; readonly upper: FeeGrowth } | undefined
}

/** Computes the payout of withdrawing all liquidity, and of collecting without that. */
export function computeHeldAmounts(position: FigureInput): {
  readonly principal: TokenAmounts
  readonly owed: TokenAmounts
  /** What the manager counts as owed: `owed` and the units that the pool lacks. */
  readonly counted: TokenAmounts
} {
  const { pool, liquidity, tickLower, tickUpper } = position
  const { sqrtPriceX96 } = pool
  return { principal: principal({ sqrtPriceX96, tickLower, tickUpper, liquidity }), ...computeOwed(position) }
}

/** Computes principal and owed amounts together. */
export function computeTotalHeld(position: FigureInput): TokenAmounts {
  const { principal, owed } = computeHeldAmounts(position)
  return { amount0: principal.amount0 + owed.amount0, amount1: principal.amount1 + owed.amount1 }
}

function computeOwed(position: FigureInput): { readonly owed: TokenAmounts; readonly counted: TokenAmounts } {
  const { liquidity, shared } = position
  const inside = computeInside(position)
  const counted = inside === undefined ? position.owed : collectable({ ...position, inside })
  return { owed: capByPool(counted, { liquidity, inside, shared }), counted }
}

/** Fee growth inside the range that is the position's; undefined if it earns nothing. */
export function computeInside({ outside, custodian, pool, tickLower, tickUpper }: FigureInput): FeeGrowth | undefined {
  if (outside === undefined || custodian?.takesFees) return undefined
  const { lower: outsideLower, upper: outsideUpper } = outside
  const { tick, global } = pool
  return feeGrowthInside({ tick, tickLower, tickUpper, global, outsideLower, outsideUpper })
}
