/*
 * What the program keeps of pools, positions and ticks, and the figures need. Counters of growth are Q64 per unit of
 * liquidity, modulo 2^128; amounts are base units.
 */

/** A reward of a pool. */
export interface PoolReward {
  readonly mint: string
  /** The account that pays it. */
  readonly vault: string
  /** Base units each second, Q64. */
  readonly emissionsX64: bigint
  readonly growthX64: bigint
}

/** One pool. */
export interface Whirlpool {
  readonly tickSpacing: number
  /** Hundredths of a bip; of a pool with adaptive fees the fixed part. */
  readonly feeRate: number
  readonly hasAdaptiveFee: boolean
  /** In range now. */
  readonly liquidity: bigint
  readonly sqrtPriceX64: bigint
  readonly tick: number
  readonly mintA: string
  readonly mintB: string
  readonly growthA: bigint
  readonly growthB: bigint
  /** Unix seconds up to which rewards are counted. */
  readonly rewardsAtSec: bigint
  /** At most three. */
  readonly rewards: readonly PoolReward[]
}

/** One position. */
export interface WhirlpoolPosition {
  readonly pool: string
  /** Of its token; of a bundled position that of the bundle's. */
  readonly mint: string
  readonly liquidity: bigint
  readonly tickLower: number
  readonly tickUpper: number
  readonly checkpointA: bigint
  readonly owedA: bigint
  readonly checkpointB: bigint
  readonly owedB: bigint
  /** One for each of the pool's, and further ones that stand for nothing. */
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
