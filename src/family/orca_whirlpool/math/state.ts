/*
 * State of pools, positions and ticks that figures depend on. Growth counters are Q64 per unit of liquidity, modulo
 * 2^128; amounts are base units.
 */

/** A reward of a pool. */
export interface PoolReward {
  readonly mint: string
  /** Token account that pays the reward. */
  readonly vault: string
  /** Base units per second, Q64. */
  readonly emissionsX64: bigint
  readonly growthX64: bigint
}

/** One pool. */
export interface Whirlpool {
  readonly tickSpacing: number
  /** Hundredths of a basis point; the fixed part in a pool with adaptive fees. */
  readonly feeRate: number
  readonly hasAdaptiveFee: boolean
  /** Liquidity in range at the current tick. */
  readonly liquidity: bigint
  readonly sqrtPriceX64: bigint
  readonly tick: number
  readonly mintA: string
  readonly mintB: string
  readonly growthA: bigint
  readonly growthB: bigint
  /** Time of the last update of rewards, Unix seconds. */
  readonly rewardsAtSec: bigint
  /** At most three. */
  readonly rewards: readonly PoolReward[]
}

/** One position. */
export interface WhirlpoolPosition {
  readonly pool: string
  /** Mint of the position's token; for a bundled position, of the bundle's token. */
  readonly mint: string
  readonly liquidity: bigint
  readonly tickLower: number
  readonly tickUpper: number
  readonly checkpointA: bigint
  readonly owedA: bigint
  readonly checkpointB: bigint
  readonly owedB: bigint
  /** One for each reward of the pool; later entries are unused. */
  readonly rewards: readonly { readonly checkpointX64: bigint; readonly owed: bigint }[]
}

/** One end of a range. */
export interface WhirlpoolTick {
  readonly isInitialized: boolean
  readonly outsideA: bigint
  readonly outsideB: bigint
  readonly outsideRewards: readonly bigint[]
}

/** Both ends of a range. */
export interface RangeTicks {
  readonly lower: WhirlpoolTick
  readonly upper: WhirlpoolTick
}
