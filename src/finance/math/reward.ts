import type { Decimal } from '../../lib/number/decimal.ts'
import { maxBigint, pow10 } from '../../lib/number/fixed_point.ts'
import { type Rational, rational } from '../../lib/number/rational.ts'
import { isInRange, type TickRange } from './liquidity.ts'

/*
 * Rewards that grow per unit of liquidity in a range, as fees do, and come besides them. Contracts count
 * them alike, and differ in the columns of a rule:
 *
 *                 bits  fraction  product         growth below the baseline
 *     gauge       256   128       any             wraps
 *     MasterChef  256   128       below 2^256     earns nothing
 *     Orca        128   64        below 2^128     wraps
 *
 * What grows now, a penalty and the funds that are there are the protocol's own.
 */

/** How a contract counts a reward. */
export interface RewardRule {
  /** Bits of growth, modulo which it wraps, and those of them that are a fraction. */
  readonly bits: number
  readonly fractionBits: bigint
  /** Growth times liquidity earns nothing from here on. @default none */
  readonly productMax?: bigint
  /** True if growth below the baseline earns nothing, instead of having wrapped. @default {false} */
  readonly isRising?: true
}

/** Growth at an update, and what was given to `liquidity` since then, in the fraction of its rule. */
interface GrowingReward {
  readonly growth: bigint
  readonly emitted: bigint
  readonly liquidity: bigint
}

/** Growth of a reward up to now: growth + ⌊emitted / liquidity⌋; without liquidity in range nothing grows. */
export function growReward({ bits }: RewardRule, { growth, emitted, liquidity }: GrowingReward): bigint {
  return liquidity === 0n ? growth : BigInt.asUintN(bits, growth + emitted / liquidity)
}

/** Growth of a reward between both ends of a range, by the pool's tick. */
export function rewardGrowthInside(
  { bits }: RewardRule,
  state: TickRange & {
    readonly tick: number
    readonly growth: bigint
    readonly outsideLower: bigint
    readonly outsideUpper: bigint
  },
): bigint {
  const { tick, tickLower, tickUpper, growth, outsideLower, outsideUpper } = state
  if (isInRange(tick, { tickLower, tickUpper })) return BigInt.asUintN(bits, growth - outsideLower - outsideUpper)
  const [near, far] = tick < tickLower ? [outsideLower, outsideUpper] : [outsideUpper, outsideLower]
  return BigInt.asUintN(bits, near - far)
}

const YEAR_SEC = 365n * 86_400n

/**
 * What a position would be given of a reward in a year if its pool and the rate stayed as they are, smallest units:
 * ⌊rate · seconds of 365 days · liquidity ÷ (unit · shared)⌋. `rate` is a second's, in parts of a smallest unit; `shared`
 * is all liquidity that it is given to now. Nothing out of range, since then nothing is given to the position.
 */
export function computeRewardPerYear({
  rate,
  unit,
  liquidity,
  shared,
  isInRange: isGiven,
}: {
  readonly rate: bigint
  readonly unit: bigint
  readonly liquidity: bigint
  readonly shared: bigint
  readonly isInRange: boolean
}): bigint {
  return isGiven && shared > 0n ? (rate * YEAR_SEC * liquidity) / (unit * shared) : 0n
}

/**
 * A reward's yearly rate: what a year brings ÷ what withdrawing all liquidity would pay, both in US dollars, 1 for 100 %.
 * Simple: nothing is compounded, and a penalty is not in it. Undefined if a price is missing, or without liquidity.
 *
 * @figure apr
 * @source `MasterChefV3.getLatestPeriodInfo`, `PancakeV3LmPool.lmLiquidity`; `CLGauge.rewardRate`, `CLPool.stakedLiquidity`; Whirlpool `emissions_per_second_x64`
 * @proof test/unit/finance/math/reward_test.ts, test/contract/family/uniswap_v3/pnl/rewards_test.ts
 */
export function computeRewardApr(
  perYear: bigint,
  {
    decimals,
    price,
    capitalE6,
  }: { readonly decimals: number; readonly price: Decimal | undefined; readonly capitalE6: bigint | undefined },
): Rational | undefined {
  if (price === undefined || capitalE6 === undefined || capitalE6 <= 0n) return undefined
  return rational(perYear * price.units * 1_000_000n, capitalE6 * pow10(decimals + price.scale))
}

/** What a position is due of a reward: owed + ⌊(inside − baseline) · liquidity / 2^fraction⌋. */
export function computeRewardDue(
  { bits, fractionBits, productMax, isRising }: RewardRule,
  position: {
    readonly inside: bigint
    /** Growth inside up to which `owed` counts it. */
    readonly baseline: bigint
    readonly liquidity: bigint
    readonly owed: bigint
  },
): bigint {
  const { inside, baseline, liquidity, owed } = position
  const grown = isRising ? maxBigint(inside - baseline, 0n) : BigInt.asUintN(bits, inside - baseline)
  const product = grown * liquidity
  return productMax !== undefined && product >= productMax ? owed : owed + (product >> fractionBits)
}
