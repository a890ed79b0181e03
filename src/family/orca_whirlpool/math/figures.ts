import type { AccountGroup } from '../../../chain/solana/groups.ts'
import { isInRange, rangePrices, type TokenAmounts } from '../../../finance/math/liquidity.ts'
import { computeRewardDue, computeRewardPerYear, growReward, type RewardRule } from '../../../finance/math/reward.ts'
import { afterTransferFee, type TransferFee } from '../../../finance/math/transfer.ts'
import { type NoPrice, sumE6, usdValue } from '../../../finance/price/price.ts'
import type { ScopePrice } from '../../../finance/price/scope.ts'
import type { SolanaToken } from '../../../finance/token/solana_tokens.ts'
import type { Decimal } from '../../../lib/number/decimal.ts'
import { minBigint, Q128 } from '../../../lib/number/fixed_point.ts'
import type { PoolReward, RangeTicks, Whirlpool, WhirlpoolPosition, WhirlpoolTick } from './state.ts'
import { sqrtPriceAtTickX64 } from './tick.ts'

/** Fields of a token that figures depend on. */
interface FigureToken {
  readonly decimals: number
  readonly transferFee: TransferFee | undefined
  readonly price: Decimal | undefined
}

/** A position and all inputs of its figures, at one slot. */
export interface FigureInput<Token extends FigureToken = FigureToken> {
  readonly pool: Whirlpool
  readonly state: WhirlpoolPosition
  readonly tokenA: Token
  readonly tokenB: Token
  /** Undefined without liquidity, because the ticks may no longer exist. */
  readonly ticks: RangeTicks | undefined
  /** One for each reward of the pool. */
  readonly rewards: readonly { readonly token: Token; readonly vaultAmount: bigint }[]
  /** By the cluster's clock, Unix seconds. */
  readonly timestampSec: bigint
}

/** Computes all figures of a position. */
export function computeFigures<Token extends FigureToken>(position: FigureInput<Token>) {
  const { pool, state, tokenA, tokenB, timestampSec } = position
  const { tickLower, tickUpper } = state
  const amounts = computeWithdrawal(pool, state)
  const owed = computeOwed(pool, state, { ticks: position.ticks, nowSec: timestampSec })
  const fees = { amount0: owed.feeA, amount1: owed.feeB }
  const rewards = position.rewards.map(({ token, vaultAmount }, index) => {
    const due = owed.rewards[index] ?? 0n
    const paid = collectable(due, vaultAmount)
    const worth = computeWorth(paid, token)
    // `collectable` is capped by the vault; US dollars (millionths) are of the amount after transfer fees.
    const perYear = computeRewardPerYear({
      // An empty vault pays nothing.
      rate: vaultAmount > 0n ? (pool.rewards[index]?.emissionsX64 ?? 0n) : 0n,
      unit: Q64,
      liquidity: state.liquidity,
      shared: pool.liquidity,
      isInRange: isInRange(pool.tick, { tickLower, tickUpper }),
    })
    return { token, owed: due, collectable: paid, perYear, worth, usdE6: worth && sumE6([worth]) }
  })
  const computeWorths = ({ amount0, amount1 }: TokenAmounts) => [
    computeWorth(amount0, tokenA),
    computeWorth(amount1, tokenB),
  ]
  const rewardWorths = rewards.map(({ collectable: paid, worth }) => (paid === 0n ? ZERO : worth))
  const [amountWorths, feeWorths] = [computeWorths(amounts), computeWorths(fees)]
  const totalWorths = [...amountWorths, ...feeWorths, ...rewardWorths]
  const toX96 = (sqrtPriceX64: bigint) => sqrtPriceX64 << 32n
  const roots = {
    current: toX96(pool.sqrtPriceX64),
    lower: toX96(sqrtPriceAtTickX64(tickLower)),
    upper: toX96(sqrtPriceAtTickX64(tickUpper)),
  }
  return {
    /** Payout of withdrawing all liquidity, before transfer fees. */
    amounts,
    /** Fees that the program would write as owed now. */
    fees,
    rewards,
    inRange: isInRange(pool.tick, { tickLower, tickUpper }),
    /** Square roots of the prices of `rangePrices`, Q96. */
    roots,
    ...rangePrices(roots, { decimals0: tokenA.decimals, decimals1: tokenB.decimals }),
    /** US dollars of the amounts after transfer fees, in millionths; undefined if a price is missing. */
    usd: {
      amountsE6: sumIfKnown(amountWorths),
      feesE6: sumIfKnown(feeWorths),
      /** A reward of which nothing can be collected counts as zero, even without a price. */
      rewardsE6: sumIfKnown(rewardWorths),
      totalE6: sumIfKnown(totalWorths),
    },
    /** The same before rounding, each part by itself; a part without a price is undefined. */
    worths: { fees: feeWorths, total: totalWorths },
  }
}

/** Converts an amount that a program pays to the amount after the token's transfer fee. */
export function toReceivedAmount(amount: bigint, { transferFee }: Pick<FigureToken, 'transferFee'>): bigint {
  return transferFee === undefined ? amount : afterTransferFee(amount, transferFee)
}

const Q64 = 2n ** 64n
const ZERO: Decimal = { units: 0n, scale: 0 }

function computeWorth(amount: bigint, token: FigureToken): Decimal | undefined {
  const { decimals, price } = token
  return price && usdValue(toReceivedAmount(amount, token), { decimals, price })
}

function sumIfKnown(values: readonly (Decimal | undefined)[]): bigint | undefined {
  const knownValues = values.filter((value) => value !== undefined)
  return knownValues.length === values.length ? sumE6(knownValues) : undefined
}

/** Fees and rewards that a position is owed, base units. */
interface OwedAmounts {
  readonly feeA: bigint
  readonly feeB: bigint
  /** One for each reward of the pool. */
  readonly rewards: readonly bigint[]
}

/**
 * Fees and rewards that the program would write as owed if it updated the position now, to the base unit. A position
 * without liquidity keeps the amounts written last, because the program refuses to update it. Throws `RangeError` if
 * `ticks` are missing for a position with liquidity.
 *
 * @figure orca-whirlpool/uncollected_fees, rewards
 * @source Whirlpool `update_fees_and_rewards`, `manager/position_manager.rs`, `manager/whirlpool_manager.rs`
 * @proof test/unit/family/orca_whirlpool/vectors_test.ts, test/unit/family/orca_whirlpool/rules_test.ts
 */
export function computeOwed(
  pool: Whirlpool,
  position: WhirlpoolPosition,
  { ticks, nowSec }: { readonly ticks: RangeTicks | undefined; readonly nowSec: bigint },
): OwedAmounts {
  const { liquidity, owedA, owedB } = position
  const getStored = (index: number) => position.rewards[index] ?? NOTHING_STORED
  if (liquidity === 0n) {
    return { feeA: owedA, feeB: owedB, rewards: pool.rewards.map((_, index) => getStored(index).owed) }
  }
  if (ticks === undefined) throw new RangeError('Cannot compute what a position is owed: its ticks are missing')
  const addGrowth = (stored: StoredOwed, global: bigint, outside: (tick: WhirlpoolTick) => bigint): bigint => {
    const inside = growthInside(global, { pool, position, ticks, outside })
    const due = computeRewardDue(RULE, { inside, baseline: stored.checkpointX64, liquidity, owed: stored.owed })
    return BigInt.asUintN(64, due)
  }
  const storedA = { owed: owedA, checkpointX64: position.checkpointA }
  const storedB = { owed: owedB, checkpointX64: position.checkpointB }
  return {
    feeA: addGrowth(storedA, pool.growthA, ({ outsideA }) => outsideA),
    feeB: addGrowth(storedB, pool.growthB, ({ outsideB }) => outsideB),
    rewards: pool.rewards.map((reward, index) =>
      addGrowth(getStored(index), rewardGrowth(reward, pool, nowSec), (tick) => tick.outsideRewards[index] ?? 0n),
    ),
  }
}

type StoredOwed = WhirlpoolPosition['rewards'][number]

/** Fees are counted as rewards are. The program drops a product that needs over 128 bits. */
const RULE: RewardRule = { bits: 128, fractionBits: 64n, productMax: Q128 }

const NOTHING_STORED: StoredOwed = { checkpointX64: 0n, owed: 0n }

/**
 * Part of a reward that its vault can pay: at most the vault's balance.
 *
 * @figure orca-whirlpool/rewards
 * @source Whirlpool `collect_reward`
 * @proof test/unit/family/orca_whirlpool/vectors_test.ts
 */
export function collectable(owed: bigint, vaultAmount: bigint): bigint {
  return minBigint(owed, vaultAmount)
}

/** Growth of a reward up to now. Nothing grows without liquidity, or if the emission since then needs over 128 bits. */
function rewardGrowth({ growthX64, emissionsX64 }: PoolReward, pool: Whirlpool, nowSec: bigint): bigint {
  const { liquidity, rewardsAtSec } = pool
  const emitted = (nowSec - rewardsAtSec) * emissionsX64
  return emitted >= Q128 ? growthX64 : growReward(RULE, { growth: growthX64, emitted, liquidity })
}

/**
 * Growth between both ends of a range, modulo 2^128. Decided by the pool's tick, not its price: after a swap that ends
 * on a tick, the price is that of the tick, and the pool's tick one below. An end that is not initialized counts as if
 * all growth were below the lower end and none above the upper end.
 */
function growthInside(
  global: bigint,
  input: {
    readonly pool: Whirlpool
    readonly position: WhirlpoolPosition
    readonly ticks: RangeTicks
    readonly outside: (tick: WhirlpoolTick) => bigint
  },
): bigint {
  const { pool, position, ticks, outside } = input
  const { lower, upper } = ticks
  const below = !lower.isInitialized
    ? global
    : pool.tick < position.tickLower
      ? global - outside(lower)
      : outside(lower)
  const above = !upper.isInitialized ? 0n : pool.tick < position.tickUpper ? outside(upper) : global - outside(upper)
  return BigInt.asUintN(128, global - below - above)
}

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

/** A token at the slot of a read. */
export interface OrcaToken extends Pick<SolanaToken, 'address' | 'symbol' | 'name' | 'decimals'> {
  /** Fee on each transfer in the slot's epoch; undefined if there is none. */
  readonly transferFee: TransferFee | undefined
  /** Why the token is spam, as a sentence; absent if it is not. */
  readonly spam?: string
  /** Undefined if there is none, or if none was requested. */
  readonly price: ScopePrice | undefined
  /** Why there is no price, if one was requested. */
  readonly noPrice?: NoPrice
}

/** A position and its pool at one slot. */
export interface OrcaPosition extends Pick<AccountGroup, 'slot' | 'timestampSec'> {
  readonly program: string
  readonly tokenId: string
  readonly address: string
  readonly wallet: string
  readonly bundle: { readonly mint: string; readonly index: number } | undefined
  /** True if the liquidity can never be withdrawn, because the position's token is frozen. */
  readonly isLocked: boolean
  readonly state: WhirlpoolPosition
  readonly pool: Whirlpool
  readonly tokenA: OrcaToken
  readonly tokenB: OrcaToken
  /** Further inputs of the figures; undefined if figures were not requested. */
  readonly figureState: FigureState | undefined
}

/** Inputs of a position's figures besides its state, pool and tokens. */
export type FigureState = Pick<FigureInput<OrcaToken>, 'ticks' | 'rewards'>

/** A position that is left out because a token of its pool is spam. */
export interface OrcaSpam {
  readonly program: string
  readonly tokenId: string
  readonly reason: string
}
