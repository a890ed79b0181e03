import { minBigint, Q128 } from '../../../lib/number/fixed_point.ts'
import type { PoolReward, RangeTicks, Whirlpool, WhirlpoolPosition, WhirlpoolTick } from './state.ts'

/** Fees and rewards that a position is owed, base units. */
export interface OwedAmounts {
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
    return BigInt.asUintN(64, stored.owed + earnings(liquidity, BigInt.asUintN(128, inside - stored.checkpointX64)))
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
  if (liquidity === 0n || emitted >= Q128) return growthX64
  return BigInt.asUintN(128, growthX64 + emitted / liquidity)
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

/** Growth times liquidity; 0 if the product needs over 128 bits, because the program drops it. */
function earnings(liquidity: bigint, growthX64: bigint): bigint {
  const product = liquidity * growthX64
  return product >= Q128 ? 0n : product >> 64n
}
