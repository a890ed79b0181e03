import { isInRange, type TickRange } from '../../finance/math/liquidity.ts'
import {
  computeRewardDue,
  computeRewardPerYear,
  growReward,
  type RewardRule,
  rewardGrowthInside,
} from '../../finance/math/reward.ts'
import { maxBigint, minBigint, mulDivDown, Q128 } from '../../lib/number/fixed_point.ts'

/**
 * The MasterChef of npm drops growth that fell, which growth inside a range does when it passes zero, and products over
 * 256 bits. That of the repository wraps the former and refuses the latter since a8f067b (February 2024). On Ethereum and
 * BNB Smart Chain npm's stands: the repository's first commit (ffa4fb2, April 2023) has it beside their addresses, and no
 * proxy is there. Of other chains no getter tells, so npm's counts, which is the lesser where growth fell.
 */
const RULE: RewardRule = { bits: 256, fractionBits: 128n, productMax: 2n ** 256n, isRising: true }
/** Parts of a unit in which the MasterChef counts its rate. */
const RATE_PRECISION = 10n ** 12n

/**
 * What `harvest` of PancakeSwap's MasterChef V3 pays for a position now, by the words that the lens wrote of it. Not
 * what its `pendingCake` tells, which leaves out what grew since the last change in the pool.
 *
 * @figure uniswap-v3/amount
 * @source `MasterChefV3.harvestOperation`, `_safeTransfer`; `PancakeV3LmPool.accumulateReward`, `getRewardGrowthInside`
 * @proof test/contract/family/uniswap_v3/masterchef_vectors_test.ts, test/contract/family/uniswap_v3/masterchef_test.ts
 */
export function computeMasterChefReward(
  words: readonly bigint[],
  { tickLower, tickUpper, pool: { tick } }: TickRange & { readonly pool: { readonly tick: number } },
) {
  const [now = 0n, growthLast = 0n, shared = 0n, since = 0n, rate = 0n, end = 0n, ...own] = words
  const [outsideLower = 0n, outsideUpper = 0n, liquidity = 0n, baseline = 0n, owed = 0n, funds = 0n] = own
  const elapsedSec = maxBigint(minBigint(now, end) - since, 0n)
  const emitted = elapsedSec * mulDivDown(rate, Q128, RATE_PRECISION)
  const growth = growReward(RULE, { growth: growthLast, emitted, liquidity: shared })
  const inside = rewardGrowthInside(RULE, { tick, tickLower, tickUpper, growth, outsideLower, outsideUpper })
  const due = computeRewardDue(RULE, { inside, baseline, liquidity, owed })
  const perYear = computeRewardPerYear({
    rate: now < end ? rate : 0n,
    unit: RATE_PRECISION,
    liquidity,
    shared,
    isInRange: isInRange(tick, { tickLower, tickUpper }),
  })
  return { amount: minBigint(due, funds), penalty: undefined, funds, perYear }
}
