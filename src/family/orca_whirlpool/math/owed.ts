import { minBigint, Q128 } from '../../../lib/number/fixed_point.ts'
import type { PoolReward, RangeTicks, Whirlpool, WhirlpoolPosition, WhirlpoolTick } from './state.ts'

/** What a position is owed, base units. */
export interface OwedAmounts {
  readonly feeA: bigint
  readonly feeB: bigint
  /** One for each reward of the pool. */
  readonly rewards: readonly bigint[]
}

/**
 * What the program would write as owed if it were asked to now, to the base unit. A position without liquidity keeps what
 * was written last: the program refuses to update it. Without `ticks` only such a position can be told. Throws
 * `RangeError` if they are missing.
 *
 * @figure orca-whirlpool/uncollected_fees, rewards
 * @source Whirlpool `update_fees_and_rewards`, `manager/position_manager.rs`, `manager/whirlpool_manager.rs`
 * @proof test/family/orca_whirlpool/vectors_test.ts, test/family/orca_whirlpool/rules_test.ts
 */
export function computeOwed(
  pool: Whirlpool,
  position: WhirlpoolPosition,
  { ticks, nowSec }: { readonly ticks: RangeTicks | undefined; readonly nowSec: bigint },
): OwedAmounts {
  const { liquidity, owedA, owedB } = position
  const writtenOf = (index: number) => position.rewards[index] ?? NOTHING_WRITTEN
  if (liquidity === 0n) {
    return { feeA: owedA, feeB: owedB, rewards: pool.rewards.map((_, index) => writtenOf(index).owed) }
  }
  if (ticks === undefined) throw new RangeError('Cannot tell what a position is owed without the ticks of its range')
  const grown = (written: StoredOwed, global: bigint, outside: (tick: WhirlpoolTick) => bigint): bigint => {
    const inside = growthInside(global, { pool, position, ticks, outside })
    return BigInt.asUintN(64, written.owed + earned(liquidity, BigInt.asUintN(128, inside - written.checkpointX64)))
  }
  const writtenA = { owed: owedA, checkpointX64: position.checkpointA }
  const writtenB = { owed: owedB, checkpointX64: position.checkpointB }
  return {
    feeA: grown(writtenA, pool.growthA, ({ outsideA }) => outsideA),
    feeB: grown(writtenB, pool.growthB, ({ outsideB }) => outsideB),
    rewards: pool.rewards.map((reward, index) =>
      grown(writtenOf(index), rewardGrowth(reward, pool, nowSec), (tick) => tick.outsideRewards[index] ?? 0n),
    ),
  }
}

type StoredOwed = WhirlpoolPosition['rewards'][number]

const NOTHING_WRITTEN: StoredOwed = { checkpointX64: 0n, owed: 0n }

/**
 * What of a reward its vault can pay: at most what is in it.
 *
 * @figure orca-whirlpool/rewards
 * @source Whirlpool `collect_reward`
 * @proof test/family/orca_whirlpool/vectors_test.ts
 */
export function collectable(owed: bigint, inVault: bigint): bigint {
  return minBigint(owed, inVault)
}

/** A reward's growth up to now. It stands still without liquidity, and if the emission of the time needs over 128 bits. */
function rewardGrowth({ growthX64, emissionsX64 }: PoolReward, pool: Whirlpool, nowSec: bigint): bigint {
  const { liquidity, rewardsAtSec } = pool
  const emitted = (nowSec - rewardsAtSec) * emissionsX64
  if (liquidity === 0n || emitted >= Q128) return growthX64
  return BigInt.asUintN(128, growthX64 + emitted / liquidity)
}

/**
 * Growth between both ends of a range, modulo 2^128. By the pool's tick, not its price: after a swap that ends on a tick
 * the price is that of the tick, and the pool's tick one below. An end that is not initialized counts as if all growth
 * were below the lower one and none above the upper one.
 */
function growthInside(
  global: bigint,
  at: {
    readonly pool: Whirlpool
    readonly position: WhirlpoolPosition
    readonly ticks: RangeTicks
    readonly outside: (tick: WhirlpoolTick) => bigint
  },
): bigint {
  const { pool, position, ticks, outside } = at
  const { lower, upper } = ticks
  const below = !lower.isInitialized
    ? global
    : pool.tick < position.tickLower
      ? global - outside(lower)
      : outside(lower)
  const above = !upper.isInitialized ? 0n : pool.tick < position.tickUpper ? outside(upper) : global - outside(upper)
  return BigInt.asUintN(128, global - below - above)
}

/** Growth times liquidity; nothing if the product needs over 128 bits, since the program gives it up. */
function earned(liquidity: bigint, growthX64: bigint): bigint {
  const product = liquidity * growthX64
  return product >= Q128 ? 0n : product >> 64n
}
