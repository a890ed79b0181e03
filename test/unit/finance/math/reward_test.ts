import { expect, test } from 'bun:test'
import { computeReward } from '../../../../src/family/slipstream/math.ts'
import { computeMasterChefReward } from '../../../../src/family/uniswap_v3/math.ts'
import { computeRewardApr } from '../../../../src/finance/math/reward.ts'
import { Q128 } from '../../../../src/lib/number/fixed_point.ts'

const YEAR = 365n * 86_400n
const NOW = 1_800_000_000n
const range = { tickLower: -10, tickUpper: 10 }
const LIQUIDITY = 123_456_789_012n
const SHARED = 987_654_321_098n
/** Wei a second. */
const RATE = 40_123_456_789_012_345n

/** A MasterChef's words, whose rate has twelve more digits. */
function masterChef(now: bigint, { end = NOW + 9n * YEAR, shared = SHARED } = {}): bigint[] {
  return [now, 0n, shared, NOW, RATE * 10n ** 12n, end, 0n, 0n, LIQUIDITY, 0n, 0n, 10n ** 40n]
}

/** A gauge's words. */
function gauge(now: bigint, { reserve = 10n ** 40n, shared = SHARED } = {}): bigint[] {
  return [now, NOW, RATE, reserve, shared, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n, 0n]
}

const at = (tick: number) => ({ ...range, liquidity: LIQUIDITY, pool: { tick } })

// What both pay for a span of time is held by vectors of the contracts.
test('what a reward brings in a year is what the contracts pay after a year in which nothing changes', () => {
  for (const tick of [-10, 0, 9]) {
    for (const [now, later] of [
      [computeMasterChefReward(masterChef(NOW), at(tick)), computeMasterChefReward(masterChef(NOW + YEAR), at(tick))],
      [computeReward(gauge(NOW), at(tick)), computeReward(gauge(NOW + YEAR), at(tick))],
    ] as const) {
      expect(now.amount).toBe(0n)
      // Growth is rounded down per liquidity, in 128 bits of a fraction.
      expect(now.perYear - later.amount >= 0n && now.perYear - later.amount <= 1n + (YEAR * LIQUIDITY) / Q128).toBe(
        true,
      )
      expect(later.amount).toBeGreaterThan(10n ** 20n)
    }
  }
})

test('growth that passed zero since the last claim earns nothing, as npm has the MasterChef, and all of it at a gauge', () => {
  const [baseline, owed, span] = [2n ** 256n - 5n * Q128, 7n, 86_400n]
  const chef = masterChef(NOW + span)
  // Growth inside was −5 a unit, and is above 0 after a day.
  chef[9] = baseline
  chef[10] = owed
  expect(computeMasterChefReward(chef, at(0)).amount).toBe(owed)
  const staked = gauge(NOW + span)
  staked[8] = baseline
  staked[9] = owed
  const since0 = computeReward(gauge(NOW + span), at(0)).amount
  // ⌊a + 5 · L⌋ = ⌊a⌋ + 5 · L.
  expect(computeReward(staked, at(0)).amount).toBe(owed + since0 + 5n * LIQUIDITY)
})

test('nothing comes out of range, after the period, from an empty reserve and where nothing shares it', () => {
  for (const tick of [-11, 10]) {
    expect(computeMasterChefReward(masterChef(NOW), at(tick)).perYear).toBe(0n)
    expect(computeReward(gauge(NOW), at(tick)).perYear).toBe(0n)
  }
  expect(computeMasterChefReward(masterChef(NOW, { end: NOW }), at(0)).perYear).toBe(0n)
  expect(computeMasterChefReward(masterChef(NOW, { shared: 0n }), at(0)).perYear).toBe(0n)
  expect(computeReward(gauge(NOW, { reserve: 0n }), at(0)).perYear).toBe(0n)
  expect(computeReward(gauge(NOW + 10n, { reserve: RATE * 10n }), at(0)).perYear).toBe(0n)
  expect(computeReward(gauge(NOW, { shared: 0n }), at(0)).perYear).toBe(0n)
})

test('a yearly rate is of what the position would pay, and untold without a price or capital', () => {
  const price = { units: 250_000_000n, scale: 8 }
  const asked = { decimals: 18, price, capitalE6: 1_000_000_000n }
  // 100 tokens of $2.50 a year on $1,000.
  const apr = computeRewardApr(100n * 10n ** 18n, asked)
  expect(apr && Number(apr.numerator) / Number(apr.denominator)).toBe(0.25)
  for (const without of [{ price: undefined }, { capitalE6: undefined }, { capitalE6: 0n }]) {
    expect(computeRewardApr(1n, { ...asked, ...without })).toBeUndefined()
  }
})
