import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type AccrualInput,
  accrue,
  borrowRate,
  bpsToSf,
  compound,
  computeOwed,
  rewardRate,
  SF,
  supply,
  toLiquidity,
  utilization,
} from '../../../../src/family/kamino/math/accrual.ts'
import { decodeReserve, type Reserve } from '../../../../src/family/kamino/read/accounts/layout.ts'
import { type ReserveFixture, reserveBytes, toFakeAddress } from '../../../support/kamino.ts'

const CURVE = [
  { utilizationBps: 0n, rateBps: 100n },
  { utilizationBps: 8_000n, rateBps: 1_000n },
  { utilizationBps: 10_000n, rateBps: 10_000n },
  { utilizationBps: 10_000n, rateBps: 10_000n },
]

function reserve(fixture: Omit<ReserveFixture, 'market'>): Reserve {
  return decodeReserve(reserveBytes({ market: toFakeAddress('market'), ...fixture }))
}

/** A moment at which only the slot matters, unless stated otherwise. */
function at(moment: Partial<AccrualInput>): AccrualInput {
  return { slot: 0n, timestampSec: 0n, referralFeeBps: 0n, rewardsMaxAprBps: 0n, ...moment }
}

describe('borrowRate()', () => {
  test.each([
    ['empty', 0n, 100n],
    ['on a corner', 8_000n, 1_000n],
    ['full', 10_000n, 10_000n],
    ['between corners', 4_000n, 550n],
    ['on the steep part', 9_000n, 5_500n],
    ['more than full', 12_000n, 10_000n],
  ])('%s', (_, usedBps, rateBps) => {
    const rate = borrowRate(CURVE, (usedBps * SF) / 10_000n)
    expect(rate - bpsToSf(rateBps) >= -4n && rate - bpsToSf(rateBps) <= 4n).toBe(true)
  })

  test('within half a basis point of a corner is the corner’s own', () => {
    expect(borrowRate(CURVE, bpsToSf(8_000n) + SF / 20_001n)).toBe(bpsToSf(1_000n))
    expect(borrowRate(CURVE, bpsToSf(8_000n) - SF / 20_001n)).toBe(bpsToSf(1_000n))
    expect(borrowRate(CURVE, bpsToSf(8_000n) + SF / 19_999n) > bpsToSf(1_000n)).toBe(true)
  })

  test('never falls as more is used', () => {
    fc.assert(
      fc.property(fc.bigInt(0n, SF), fc.bigInt(0n, SF), (one, other) => {
        const [less, more] = one < other ? [one, other] : [other, one]
        // On a corner the utilization counts as rounded, which is worth at most a basis point of it.
        expect(borrowRate(CURVE, more) + SF / 2_000n >= borrowRate(CURVE, less)).toBe(true)
      }),
    )
  })

  test('refuses a curve that ends early', () => {
    expect(() => borrowRate(CURVE.slice(0, 2), SF)).toThrow(RangeError)
  })
})

describe('compound()', () => {
  const rates = fc.bigInt(0n, 10n * SF)
  const bySlots = (rateSf: bigint, units: bigint) => compound(rateSf, { units, unitsPerYear: 63_072_000n })

  test('of no slots is one, of one slot one and a share of the year', () => {
    fc.assert(
      fc.property(rates, (rate) => {
        expect(bySlots(rate, 0n)).toBe(SF)
        expect(bySlots(rate, 1n)).toBe(SF + rate / 63_072_000n)
      }),
    )
  })

  test('stays within its rounding of the exact binomial, by as many terms as the program takes', () => {
    fc.assert(
      fc.property(rates, fc.bigInt(2n, 1_000n), (rate, slots) => {
        // Everything over SF³, so that products have no remainder.
        const base = rate / 63_072_000n
        const choose2 = (slots * (slots - 1n)) / 2n
        const choose3 = (choose2 * (slots - 2n)) / 3n
        const exact = SF ** 3n + base * slots * SF ** 2n + base ** 2n * choose2 * SF + base ** 3n * choose3
        const error = exact / SF ** 2n - bySlots(rate, slots)
        const allowed = choose2 + 2n * choose3 + 8n
        expect(error >= -allowed && error <= allowed).toBe(true)
      }),
    )
  })

  test('adds all four terms: at half as much again each time, ten times are 1 + 5 + 45/4 + 120/8', () => {
    expect(compound(SF / 2n, { units: 10n, unitsPerYear: 1n })).toBe((129n * SF) / 4n)
    expect(compound(SF / 2n, { units: 5n, unitsPerYear: 1n })).toBe(
      SF + (5n * SF) / 2n + (10n * SF) / 4n + (10n * SF) / 8n,
    )
  })

  test('adds every slot once: 2, 3 and 4 slots are powers', () => {
    const rate = 5n * SF
    const once = bySlots(rate, 1n)
    const times = (a: bigint, b: bigint) => (a * b) / SF
    expect(bySlots(rate, 2n)).toBe(times(once, once))
    expect(bySlots(rate, 3n)).toBe(times(times(once, once), once))
    expect(bySlots(rate, 4n)).toBe(times(times(once, once), times(once, once)))
  })
})

const fixtures = fc.record({
  availableAmount: fc.bigInt(0n, 10n ** 15n),
  borrowed: fc.bigInt(0n, 10n ** 15n),
  protocolTakeRatePct: fc.nat(100),
  hostFixedRateBps: fc.nat(500),
  referralFeeBps: fc.bigInt(0n, 10_000n),
  elapsed: fc.bigInt(0n, 20_000_000n),
})

describe('accrue()', () => {
  const usual = {
    lastUpdateSlot: 1_000n,
    curve: CURVE.map((c) => [Number(c.utilizationBps), Number(c.rateBps)] as const),
  }

  test('changes nothing at the slot of the last refresh, or before it', () => {
    const before = reserve({ ...usual, availableAmount: 5n, borrowedSf: 7n * SF, cumulativeRateSf: 3n * SF })
    for (const slot of [1_000n, 999n, 0n]) {
      expect(accrue(before, at({ slot, referralFeeBps: 2_000n }))).toMatchObject({
        borrowedSf: 7n * SF,
        cumulativeRateSf: 3n * SF,
        supplySf: 12n * SF,
        protocolFeesSf: 0n,
        pendingReferrerFeesSf: 0n,
      })
    }
  })

  test('distributes all interest among suppliers, protocol, host and referrers', () => {
    fc.assert(
      fc.property(fixtures, ({ availableAmount, borrowed, referralFeeBps, elapsed, ...rates }) => {
        const before = reserve({ ...usual, ...rates, availableAmount, borrowedSf: borrowed * SF })
        const after = accrue(before, at({ slot: 1_000n + elapsed, referralFeeBps }))
        expect(after.supplySf - supply(before)).toBe(
          after.borrowedSf - before.borrowedSf - after.protocolFeesSf - after.pendingReferrerFeesSf,
        )
        expect(after.supplySf >= supply(before)).toBe(true)
        expect(after.protocolFeesSf >= 0n && after.pendingReferrerFeesSf >= 0n).toBe(true)
      }),
    )
  })

  test('gives the protocol its percentage of the interest', () => {
    for (const protocolTakeRatePct of [0, 25, 50, 100]) {
      const before = reserve({ ...usual, availableAmount: 10n ** 9n, borrowedSf: 10n ** 9n * SF, protocolTakeRatePct })
      const { borrowedSf, protocolFeesSf } = accrue(before, at({ slot: 1_000_000n }))
      const interest = borrowedSf - before.borrowedSf
      expect(interest).toBeGreaterThan(SF)
      expect(protocolFeesSf).toBe((interest * ((BigInt(protocolTakeRatePct) * SF) / 100n)) / SF)
    }
  })

  test('pays referrers from the protocol’s share, not from the suppliers’', () => {
    fc.assert(
      fc.property(fixtures, ({ availableAmount, borrowed, referralFeeBps, elapsed, ...rates }) => {
        const before = reserve({ ...usual, ...rates, availableAmount, borrowedSf: borrowed * SF })
        const slot = 1_000n + elapsed
        const [without, with_] = [accrue(before, at({ slot })), accrue(before, at({ slot, referralFeeBps }))]
        expect(with_.supplySf).toBe(without.supplySf)
        expect(with_.protocolFeesSf + with_.pendingReferrerFeesSf).toBe(without.protocolFeesSf)
      }),
    )
  })

  test('gives the host’s fixed part to the host alone', () => {
    const before = reserve({
      lastUpdateSlot: 0n,
      availableAmount: 10n ** 9n,
      borrowedSf: 10n ** 9n * SF,
      hostFixedRateBps: 100,
    })
    const after = accrue(before, at({ slot: 63_072_000n }))
    expect(after.supplySf).toBe(supply(before))
    // The square of a slot's share is below 2^-60 at this rate, so that the program adds it linearly.
    const interest = Number(after.borrowedSf - before.borrowedSf) / Number(10n ** 9n * SF)
    expect(interest).toBeCloseTo(0.01, 9)
    expect(after.protocolFeesSf).toBe(after.borrowedSf - before.borrowedSf)
  })

  test('grows a debt as it grows the pool’s cumulative rate', () => {
    const before = reserve({
      ...usual,
      availableAmount: 10n ** 9n,
      borrowedSf: 10n ** 9n * SF,
      cumulativeRateSf: 2n * SF,
    })
    const after = accrue(before, at({ slot: 1_150n }))
    const debt = computeOwed({ amountSf: 10n ** 9n * SF, cumulativeRateSf: 2n * SF }, after)
    expect(after.borrowedSf - debt >= 0n && after.borrowedSf - debt < 10n ** 9n).toBe(true)
  })
})

describe('a pool with a single collateral token, or a single 2^-60th of a unit', () => {
  const pool = { borrowedSf: 0n, cumulativeRateSf: SF, protocolFeesSf: 0n, pendingReferrerFeesSf: 0n, rewardsLeft: 9n }

  test('shares the liquidity, and earns rewards', () => {
    expect(toLiquidity(3n, { ...pool, supplySf: 10n * SF, collateralSupply: 1n })).toBe(30n * SF)
    expect(toLiquidity(3n, { ...pool, supplySf: 1n, collateralSupply: 1n })).toBe(3n)
    const rewarded = reserve({ rewardsPerUnit: 10n, rewardsAvailable: 9n })
    const most = { rewardsMaxAprBps: 500n }
    for (const changes of [{}, { supplySf: 1n }, { rewardsLeft: 1n }]) {
      expect(rewardRate(rewarded, { ...pool, supplySf: SF, collateralSupply: 1n, ...changes }, most)).toBe(
        bpsToSf(500n),
      )
    }
    const given = accrue(
      reserve({ availableAmount: 10n ** 9n, collateralSupply: 1n, rewardsPerUnit: 1n, rewardsAvailable: 9n }),
      at({ slot: 5n, rewardsMaxAprBps: 65_535n }),
    )
    expect(given.rewardsLeft).toBe(4n)
  })
})

describe('rewards', () => {
  /** 63,072,000 units supplied without interest: at 100 % a year one a slot. */
  const plain = {
    lastUpdateSlot: 1_000n,
    availableAmount: 63_072_000n,
    collateralSupply: 63_072_000n,
    rewardsPerUnit: 10n,
    rewardsAvailable: 1_000_000n,
  }

  /** Rewards distributed over a number of slots, base units. */
  function given(changes: Omit<ReserveFixture, 'market'>, elapsed: bigint, rewardsMaxAprBps = 65_535n): bigint {
    const before = reserve({ ...plain, ...changes })
    const after = accrue(before, at({ slot: 1_000n + elapsed, rewardsMaxAprBps }))
    const rewards = before.rewardsAvailable - after.rewardsLeft
    expect(after.supplySf - supply(before)).toBe(rewards * SF)
    return rewards
  }

  test.each([
    ['as many as are to be given in each slot', { rewardsPerUnit: 3n }, 1_000n, 65_535n, 3_000n],
    ['no more than the market allows in a year', {}, 1_000n, 10_000n, 1_000n],
    ['of what the market allows only whole units', {}, 999n, 9_999n, 998n],
    ['of the supply only whole units', { borrowedSf: SF - 1n }, 63_072_000n, 1n, 6_307n],
    ['no more than there are', { rewardsAvailable: 7n }, 1_000n, 65_535n, 7n],
    ['none at the slot of the last refresh', {}, 0n, 65_535n, 0n],
    ['none if the market gives none', {}, 1_000n, 0n, 0n],
    ['none if the reserve gives none', { rewardsPerUnit: 0n }, 1_000n, 65_535n, 0n],
    ['none if none are left', { rewardsAvailable: 0n }, 1_000n, 65_535n, 0n],
    ['none without suppliers', { collateralSupply: 0n }, 1_000n, 65_535n, 0n],
    ['none into an empty pool', { availableAmount: 0n }, 1_000n, 65_535n, 0n],
  ])('are %s', (_, changes, elapsed, rewardsMaxAprBps, expected) => {
    expect(given(changes, elapsed, rewardsMaxAprBps)).toBe(expected)
  })

  test('are allowed by the supply after interest, and interest is calculated without them', () => {
    const usual = { lastUpdateSlot: 0n, curve: [[0, 5_000] as const, [10_000, 5_000] as const] }
    const pool = { availableAmount: 0n, borrowedSf: 10n ** 9n * SF, collateralSupply: 1n }
    const slot = 63_072_000n
    const without = accrue(reserve({ ...usual, ...pool }), at({ slot }))
    const rewarded = reserve({ ...usual, ...pool, rewardsPerUnit: 10n ** 9n, rewardsAvailable: 10n ** 18n })
    const with_ = accrue(rewarded, at({ slot, rewardsMaxAprBps: 1_000n }))
    expect(with_.borrowedSf).toBe(without.borrowedSf)
    expect(with_.cumulativeRateSf).toBe(without.cumulativeRateSf)
    // A tenth of the supply that half a year's capital of interest made of it.
    expect(with_.supplySf - without.supplySf).toBe((without.supplySf / SF / 10n) * SF)
  })

  test('are worth a yearly rate while there are any', () => {
    const rate = (changes: Omit<ReserveFixture, 'market'>, rewardsMaxAprBps = 65_535n) => {
      const before = reserve({ ...plain, ...changes })
      return rewardRate(before, accrue(before, at({ slot: 1_000n })), { rewardsMaxAprBps })
    }
    expect(rate({ rewardsPerUnit: 1n })).toBe(SF)
    expect(rate({ rewardsPerUnit: 1n, interestRateBasis: 1 })).toBe(SF / 2n)
    expect(rate({}, 250n)).toBe(bpsToSf(250n))
    expect([rate({ rewardsAvailable: 0n }), rate({ rewardsPerUnit: 0n }), rate({}, 0n)]).toEqual([0n, 0n, 0n])
    expect([rate({ collateralSupply: 0n }), rate({ availableAmount: 0n })]).toEqual([0n, 0n])
  })
})

describe('a reserve that accrues by seconds', () => {
  const usual = {
    interestRateBasis: 1,
    lastUpdateSlot: 1_000n,
    lastUpdateTimestampSec: 1_700_000_000n,
    availableAmount: 10n ** 12n,
    borrowedSf: 10n ** 12n * SF,
    collateralSupply: 10n ** 12n,
    curve: [[0, 1_000] as const, [10_000, 1_000] as const],
  }

  function grown(changes: Omit<ReserveFixture, 'market'>, moment: Partial<AccrualInput>): bigint {
    return accrue(reserve({ ...usual, ...changes }), at(moment)).borrowedSf
  }

  test('grows with the cluster’s clock, not with the slots', () => {
    const year = { timestampSec: 1_700_000_000n + 31_536_000n }
    const after = grown({}, { ...year, slot: 1_000n })
    // The program keeps 60 bits of the square of a second's share, so that the third digit is its last.
    expect(Number(after) / Number(10n ** 12n * SF)).toBeCloseTo(Math.exp(0.1), 3)
    expect(grown({}, { ...year, slot: 10n ** 9n })).toBe(after)
    expect(after).toBe((10n ** 12n * SF * compound(SF / 10n, { units: 31_536_000n, unitsPerYear: 31_536_000n })) / SF)
  })

  test('gives its rewards by seconds', () => {
    const before = reserve({ ...usual, borrowedSf: 0n, rewardsPerUnit: 5n, rewardsAvailable: 10n ** 9n })
    const after = accrue(before, at({ slot: 10n ** 9n, timestampSec: 1_700_000_100n, rewardsMaxAprBps: 65_535n }))
    expect(after.rewardsLeft).toBe(10n ** 9n - 500n)
  })

  test('does not grow before its last refresh, or if the time of that refresh is unknown', () => {
    const { borrowedSf } = usual
    expect(grown({}, { timestampSec: 1_699_999_999n })).toBe(borrowedSf)
    expect(grown({ lastUpdateTimestampSec: 0n }, { timestampSec: 1_800_000_000n })).toBe(borrowedSf)
  })
})

test('computeOwed() does not change a debt that is ahead of its reserve', () => {
  const pool = accrue(reserve({}), at({}))
  expect(computeOwed({ amountSf: 5n, cumulativeRateSf: SF + 1n }, pool)).toBe(5n)
  expect(computeOwed({ amountSf: 5n, cumulativeRateSf: SF }, pool)).toBe(5n)
})

describe('toLiquidity()', () => {
  const pool = (fixture: Omit<ReserveFixture, 'market'>) => accrue(reserve(fixture), at({}))

  test('is the share of the supply, rounded down', () => {
    expect(toLiquidity(3n, pool({ availableAmount: 10n, collateralSupply: 7n }))).toBe((30n * SF) / 7n)
  })

  test('is one for one if nothing was minted or the pool is empty', () => {
    expect(toLiquidity(3n, pool({ availableAmount: 10n, collateralSupply: 0n }))).toBe(3n * SF)
    expect(toLiquidity(3n, pool({ availableAmount: 0n, collateralSupply: 7n }))).toBe(3n * SF)
  })

  test('does not count fees as liquidity behind collateral tokens', () => {
    const fees = { protocolFeesSf: 2n * SF, referrerFeesSf: 3n * SF, pendingReferrerFeesSf: 1n * SF }
    expect(toLiquidity(4n, pool({ availableAmount: 10n, collateralSupply: 4n, ...fees }))).toBe(4n * SF)
  })
})

test('utilization() of an empty pool is 0', () => {
  expect(utilization(0n, 0n)).toBe(0n)
  expect(utilization(SF, 2n * SF)).toBe(SF / 2n)
})
