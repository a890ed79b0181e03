import { isInRange, type TickRange } from '../../finance/math/liquidity.ts'
import {
  computeRewardDue,
  computeRewardPerYear,
  growReward,
  type RewardRule,
  rewardGrowthInside,
} from '../../finance/math/reward.ts'
import { minBigint, Q128 } from '../../lib/number/fixed_point.ts'

/** `CLGauge._earned`, `CLPool.getRewardGrowthInside`: both wrap, and multiply in 512 bits. */
const GAUGE_RULE: RewardRule = { bits: 256, fractionBits: 128n }
const MAX_BPS = 10_000n

/** Words of a reward, in the order of `lens.sol`. */
const WORDS = [
  'now',
  'lastUpdated',
  'rate',
  'reserve',
  'stakedLiquidity',
  'growth',
  'outsideLower',
  'outsideUpper',
  'baseline',
  'owed',
  'penaltyBps',
  'penaltyUntil',
  'gauge',
  'since',
] as const

type RewardWords = Readonly<Record<(typeof WORDS)[number], bigint>>

/** What a reward follows from, by name. */
export function nameRewardWords(words: readonly bigint[]): RewardWords {
  return Object.fromEntries(WORDS.map((name, index) => [name, words[index] ?? 0n])) as RewardWords
}

/**
 * What claiming the reward of a staked position pays now. The gauge gives `rate` a second to the staked liquidity in
 * range for as long as the pool's reserve lasts, whatever the end of its period. Within the shortest time of staking,
 * claiming forfeits a part.
 *
 * @figure slipstream/amount
 * @source velodrome-finance/slipstream `CLGauge.earned`, `_earned`, `_applyPenalty`
 * @proof test/contract/family/slipstream/vectors_test.ts, test/contract/family/slipstream/devnet_test.ts
 */
export function computeReward(
  words: readonly bigint[],
  {
    tickLower,
    tickUpper,
    liquidity,
    pool,
  }: TickRange & { readonly liquidity: bigint; readonly pool: { readonly tick: number } },
) {
  const { now, lastUpdated, rate, reserve, stakedLiquidity, growth, ...position } = nameRewardWords(words)
  const elapsed = now > lastUpdated ? now - lastUpdated : 0n
  const emitted = minBigint(rate * elapsed, reserve) * Q128
  const inside = rewardGrowthInside(GAUGE_RULE, {
    tick: pool.tick,
    tickLower,
    tickUpper,
    growth: growReward(GAUGE_RULE, { growth, emitted, liquidity: stakedLiquidity }),
    outsideLower: position.outsideLower,
    outsideUpper: position.outsideUpper,
  })
  const { baseline, owed, penaltyBps, penaltyUntil } = position
  const due = computeRewardDue(GAUGE_RULE, { inside, baseline, liquidity, owed })
  const isEarly = penaltyBps > 0n && now < penaltyUntil
  const isLeft = rate * elapsed < reserve
  const perYear = computeRewardPerYear({
    rate: isLeft ? rate : 0n,
    unit: 1n,
    liquidity,
    shared: stakedLiquidity,
    isInRange: isInRange(pool.tick, { tickLower, tickUpper }),
  })
  const forfeited = isEarly ? (due * penaltyBps) / MAX_BPS : 0n
  return {
    amount: due - forfeited,
    perYear,
    penalty: isEarly ? { amount: forfeited, untilSec: penaltyUntil } : undefined,
  }
}
