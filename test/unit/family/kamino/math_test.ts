import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { findElevationGroup, isSoundReserve, valueObligation } from '../../../../src/family/kamino/math/position.ts'
import { decodeReserve } from '../../../../src/family/kamino/read/accounts/layout.ts'
import {
  borrowUtilization,
  currentLtv,
  healthFactor,
  type LendingPosition,
  liquidationThreshold,
  positionLeverage,
} from '../../../../src/finance/math/lending.ts'
import { compareRational, formatRational, rational } from '../../../../src/lib/number/rational.ts'
import { caseCount } from '../../../support/cases.ts'
import { reserveBytes, SF, sf, toFakeAddress } from '../../../support/kamino.ts'
import { type SceneChanges, SLOT, SOL, USDC } from '../../../support/kamino_scene.ts'
import { createSnapshot } from './snapshot.ts'

function createPosition(changes: SceneChanges = {}, slot = SLOT): LendingPosition {
  return valueObligation(createSnapshot({ changes, slot }), { slotMs: 400 })
}

function text(value: ReturnType<typeof healthFactor>, digits: number): string {
  return value === 'max' ? 'MAX' : formatRational(value, { digits })
}

function usd(amount: bigint, { totals }: LendingPosition, digits = 6): string {
  return formatRational(rational(amount, totals.perUsd), { digits })
}

describe('valueObligation()', () => {
  test('values the scene', () => {
    const position = createPosition()
    const { totals } = position
    expect(
      [totals.supplied, totals.collateral, totals.debt, totals.riskDebt].map((each) => usd(each, position)),
    ).toEqual(['15000.000000', '15000.000000', '6000.000000', '6000.000000'])
    expect([totals.liquidationLimit, totals.borrowLimit].map((each) => usd(each, position))).toEqual([
      '12000.000000',
      '11250.000000',
    ])
  })

  test('is exact: a health factor of 2 is exactly 2, for any percentages and prices', () => {
    expect(healthFactor(createPosition().totals)).toSatisfy(
      (factor) => factor !== 'max' && compareRational(factor, rational(2n, 1n)) === 0,
    )
    // 3 × 0.1 dollars at 70 % against 0.3 × 0.7 dollars: no binary fractions.
    const { totals } = createPosition({
      sol: {
        decimals: 0,
        scopeChain: [20],
        liquidationThresholdPct: 70,
        availableAmount: 10n,
        borrowedSf: 0n,
        collateralSupply: 10n,
      },
      deposits: [{ reserve: SOL, collateralAmount: 3n }],
      borrows: [{ reserve: USDC, amountSf: 210_000n * SF }],
      prices: [{ index: 20, value: 1n, exponent: 1n }],
    })
    expect(text(healthFactor(totals), 30)).toBe(`1.${'0'.repeat(30)}`)
  })

  test('weights a debt by its borrow factor for risk, but not in US dollars', () => {
    const position = createPosition({ usdc: { borrowFactorPct: 150n } })
    expect(usd(position.totals.debt, position)).toBe('6000.000000')
    expect(usd(position.totals.riskDebt, position)).toBe('9000.000000')
    expect(text(healthFactor(position.totals), 4)).toBe('1.3333')
  })

  test('never lets a borrow factor make a debt smaller', () => {
    for (const borrowFactorPct of [0n, 50n, 100n]) {
      const position = createPosition({ usdc: { borrowFactorPct } })
      expect(usd(position.totals.riskDebt, position)).toBe('6000.000000')
    }
  })

  test('puts an elevation group’s limits in place of every reserve’s, and its borrow factors at 1', () => {
    const position = createPosition({
      elevationGroup: 3,
      market: { elevationGroups: [{ id: 3, maxLtvPct: 90, liquidationThresholdPct: 95 }] },
      usdc: { borrowFactorPct: 150n },
    })
    const { totals } = position
    expect(usd(totals.borrowLimit, position)).toBe('13500.000000')
    expect(usd(totals.liquidationLimit, position)).toBe('14250.000000')
    expect(usd(totals.riskDebt, position)).toBe('6000.000000')
  })

  test('caps what may be borrowed by the market’s cap, and the health factor not', () => {
    const position = createPosition({ market: { borrowCapUsd: 7_000n } })
    expect(usd(position.totals.borrowLimit, position)).toBe('7000.000000')
    expect(text(borrowUtilization(position.totals), 8)).toBe('0.85714286')
    expect(text(healthFactor(position.totals), 4)).toBe('2.0000')
    const closed = createPosition({ market: { borrowCapUsd: 0n } })
    expect(text(borrowUtilization(closed.totals), 8)).toBe('MAX')
  })

  test('counts a collateral that is worth nothing as collateral', () => {
    const position = createPosition({
      usdc: { maxLtvPct: 0, liquidationThresholdPct: 0 },
      deposits: [
        { reserve: SOL, collateralAmount: 100n * 10n ** 9n },
        { reserve: USDC, collateralAmount: 15_000n * 10n ** 6n },
      ],
    })
    // The health factor does not change, though loan-to-value and threshold both halve.
    expect(text(healthFactor(position.totals), 4)).toBe('2.0000')
    expect(text(currentLtv(position.totals), 4)).toBe('0.2000')
    expect(text(liquidationThreshold(position.totals), 4)).toBe('0.4000')
  })

  test('prices collateral tokens by the liquidity behind them', () => {
    const position = createPosition({ sol: { collateralSupply: 5_000n * 10n ** 9n } })
    expect(usd(position.totals.supplied, position)).toBe('30000.000000')
  })

  test('returns a health factor below 1 and leverage MAX for an insolvent obligation', () => {
    const { totals } = createPosition({ borrows: [{ reserve: USDC, amountSf: 20_000n * 10n ** 6n * SF }] })
    expect(text(healthFactor(totals), 4)).toBe('0.6000')
    expect(text(positionLeverage(totals), 8)).toBe('MAX')
  })

  test('returns zeros for an empty obligation', () => {
    const { totals, supplies, borrows } = createPosition({ deposits: [], borrows: [] })
    expect(totals).toEqual({
      perUsd: 100n,
      supplied: 0n,
      collateral: 0n,
      debt: 0n,
      riskDebt: 0n,
      liquidationLimit: 0n,
      borrowLimit: 0n,
    })
    expect([supplies, borrows]).toEqual([[], []])
  })

  test('adds interest up to the slot it was read at', () => {
    const [now, later] = [createPosition({}, SLOT), createPosition({}, SLOT + 1_000_000)]
    // 10 % a year over 1,000,000 of 63,072,000 slots.
    const grown = Number(later.totals.debt) / Number(now.totals.debt)
    expect(grown).toBeCloseTo(1 + 0.1 / 63.072, 5)
    expect(later.totals.supplied > now.totals.supplied).toBe(true)
  })

  test('grows a debt from the rate of its last refresh', () => {
    const position = createPosition({
      usdc: { cumulativeRateSf: 3n * SF },
      borrows: [{ reserve: USDC, amountSf: 1_000n * 10n ** 6n * SF, cumulativeRateSf: 2n * SF }],
    })
    expect(usd(position.totals.debt, position)).toBe('1500.000000')
  })

  test('throws for a snapshot without a reserve or group', () => {
    const snapshot = createSnapshot()
    expect(() => valueObligation({ ...snapshot, assets: new Map() }, { slotMs: 400 })).toThrow(RangeError)
    expect(() => createPosition({ elevationGroup: 4 })).toThrow(RangeError)
  })
})

describe('yields', () => {
  /** (1 + apr/n)^n − 1 in double precision, for the slots as they really are. */
  function apy(apr: number, slotMs = 400): number {
    return Math.expm1(63_072_000 * Math.log1p((apr * 500) / slotMs / 63_072_000))
  }

  test('are the curve’s rate for borrowers, and their share of it for suppliers', () => {
    const { supplies, borrows } = createPosition()
    // SOL: half used, 6.25 % a year, a fifth of it for the protocol. USDC: four fifths used, 10 %.
    expect(Number(supplies[0]?.apyRay) / 1e27).toBeCloseTo(apy(0.5 * 0.0625 * 0.8), 12)
    expect(Number(borrows[0]?.apyRay) / 1e27).toBeCloseTo(apy(0.1), 12)
  })

  test('exclude the host’s rate for suppliers', () => {
    const { supplies, borrows } = createPosition({
      sol: { hostFixedRateBps: 200 },
      usdc: { hostFixedRateBps: 200 },
    })
    expect(Number(supplies[0]?.apyRay) / 1e27).toBeCloseTo(apy(0.5 * 0.0625 * 0.8), 12)
    expect(Number(borrows[0]?.apyRay) / 1e27).toBeCloseTo(apy(0.12), 12)
  })

  test('are those after interest was added, which uses more of the pool', () => {
    const [now, later] = [createPosition({}, SLOT), createPosition({}, SLOT + 10_000_000)]
    expect((later.borrows[0]?.apyRay ?? 0n) > (now.borrows[0]?.apyRay ?? 0n)).toBe(true)
  })

  test('do not depend on the duration of slots for a reserve that accrues by seconds', () => {
    const snapshot = createSnapshot({ changes: { sol: { interestRateBasis: 1 }, usdc: { interestRateBasis: 1 } } })
    for (const slotMs of [400, 500]) {
      const { supplies, borrows } = valueObligation(snapshot, { slotMs })
      expect(Number(supplies[0]?.apyRay) / 1e27).toBeCloseTo(Math.expm1(0.5 * 0.0625 * 0.8), 9)
      expect(Number(borrows[0]?.apyRay) / 1e27).toBeCloseTo(Math.expm1(0.1), 9)
    }
  })

  test('include rewards for suppliers, and not for borrowers', () => {
    const { supplies, borrows } = createPosition({
      market: { rewardsMaxAprBps: 500 },
      sol: { rewardsPerUnit: 10n ** 9n, rewardsAvailable: 1n },
      usdc: { rewardsPerUnit: 10n ** 9n, rewardsAvailable: 1n },
    })
    expect(Number(supplies[0]?.apyRay) / 1e27).toBeCloseTo(apy(0.5 * 0.0625 * 0.8 + 0.05), 12)
    expect(Number(borrows[0]?.apyRay) / 1e27).toBeCloseTo(apy(0.1), 12)
  })

  test('depend on the real duration of a slot, and debts do not', () => {
    const snapshot = createSnapshot({ slot: SLOT + 1_000_000 })
    const [fast, slow] = [valueObligation(snapshot, { slotMs: 400 }), valueObligation(snapshot, { slotMs: 500 })]
    expect(fast.totals).toEqual(slow.totals)
    expect((fast.borrows[0]?.apyRay ?? 0n) > (slow.borrows[0]?.apyRay ?? 0n)).toBe(true)
  })
})

describe('published examples of Kamino’s own interface', () => {
  test('ObligationStats: limits, ratios and leverage to 16 digits', () => {
    // One deposit at 74 % and 75 %; figures from the interface description of api.kamino.finance.
    const position = createPosition({
      sol: {
        decimals: 6,
        scopeChain: [13],
        availableAmount: 0n,
        borrowedSf: sf('1823914.8107523825549'),
        collateralSupply: 1_000_000n,
        maxLtvPct: 74,
        liquidationThresholdPct: 75,
      },
      deposits: [{ reserve: SOL, collateralAmount: 1_000_000n }],
      borrows: [{ reserve: USDC, amountSf: sf('100000.95858274584538') }],
    })
    const { totals } = position
    expect(usd(totals.supplied, position, 16)).toBe('1.8239148107523826')
    expect(usd(totals.debt, position, 16)).toBe('0.1000009585827458')
    expect(usd(totals.borrowLimit, position, 16)).toBe('1.3496969599567631')
    expect(usd(totals.liquidationLimit, position, 16)).toBe('1.3679361080642869')
    expect(usd(totals.supplied - totals.debt, position, 16)).toBe('1.7239138521696367')
    expect(text(currentLtv(totals), 16)).toBe('0.0548276476473671')
    expect(text(borrowUtilization(totals), 16)).toBe('0.0740914157396852')
    expect(text(liquidationThreshold(totals), 16)).toBe('0.7500000000000000')
    expect(text(positionLeverage(totals), 16)).toBe('1.0580080950430843')
    expect(text(healthFactor(totals), 14)).toBe('13.67922995390477')
  })

  test('a multiply position, its price chained from two feeds', () => {
    // JitoSOL at 85.807619685221685924, SOL at 66.80017855: the second feed is their ratio.
    const ratio = (85_807619685221685924n * 10n ** 16n) / 66_80017855n
    const position = createPosition({
      sol: {
        availableAmount: 0n,
        borrowedSf: sf('1448881712.4626824571'),
        collateralSupply: 1_000_000n,
        scopeChain: [30, 31],
        maxLtvPct: 87,
        liquidationThresholdPct: 92,
      },
      usdc: { decimals: 9, scopeChain: [30] },
      deposits: [{ reserve: SOL, collateralAmount: 1_000_000n }],
      borrows: [{ reserve: USDC, amountSf: sf('1276825076.608483649') }],
      prices: [
        { index: 30, value: 66_80017855n, exponent: 8n },
        { index: 31, value: ratio / 10n ** 8n, exponent: 18n },
      ],
    })
    const { totals } = position
    expect(usd(totals.supplied, position, 14)).toBe('124.32509095187058')
    expect(usd(totals.debt, position, 15)).toBe('85.292143094564136')
    expect(usd(totals.supplied - totals.debt, position, 14)).toBe('39.03294785730644')
    expect(text(currentLtv(totals), 14)).toBe('0.68604126843215')
    expect(text(liquidationThreshold(totals), 14)).toBe('0.92000000000000')
    expect(text(positionLeverage(totals), 14)).toBe('3.18513199173089')
  })

  test('a leverage position', () => {
    const position = createPosition({
      sol: {
        decimals: 8,
        availableAmount: 0n,
        borrowedSf: sf('1417464.8995927885562'),
        collateralSupply: 1_000_000n,
        scopeChain: [40],
        maxLtvPct: 75,
        liquidationThresholdPct: 80,
      },
      usdc: { scopeChain: [41] },
      deposits: [{ reserve: SOL, collateralAmount: 1_000_000n }],
      borrows: [{ reserve: USDC, amountSf: sf('14954355.260684127232') }],
      prices: [
        { index: 40, value: 1673_72412085n, exponent: 8n },
        { index: 41, value: 99970566n, exponent: 8n },
      ],
    })
    const { totals } = position
    expect(usd(totals.supplied, position, 14)).toBe('23.72445192906674')
    expect(usd(totals.debt, position, 14)).toBe('14.94995359575670')
    expect(text(currentLtv(totals), 14)).toBe('0.63014958745750')
    expect(text(positionLeverage(totals), 14)).toBe('2.70379582146630')
  })
})

describe('against formulas in floating point', () => {
  const asset = fc.record({
    collateral: fc.integer({ min: 1, max: 1_000_000 }),
    price: fc.integer({ min: 1, max: 100_000 }),
    decimals: fc.integer({ min: 0, max: 12 }),
    maxLtvPct: fc.integer({ min: 0, max: 90 }),
  })

  test('limits and ratios of random obligations agree to 12 digits', () => {
    fc.assert(
      fc.property(
        asset,
        fc.record({
          amount: fc.integer({ min: 1, max: 1_000_000 }),
          price: fc.integer({ min: 1, max: 100_000 }),
          decimals: fc.integer({ min: 0, max: 12 }),
          borrowFactorPct: fc.integer({ min: 50, max: 400 }),
        }),
        (held, debt) => {
          const { totals } = createPosition({
            sol: {
              decimals: held.decimals,
              scopeChain: [100],
              maxLtvPct: held.maxLtvPct,
              liquidationThresholdPct: held.maxLtvPct + 5,
              availableAmount: 1_000_000n * 10n ** BigInt(held.decimals),
              borrowedSf: 0n,
              collateralSupply: 1_000_000n * 10n ** BigInt(held.decimals),
            },
            usdc: { decimals: debt.decimals, scopeChain: [101], borrowFactorPct: BigInt(debt.borrowFactorPct) },
            deposits: [{ reserve: SOL, collateralAmount: BigInt(held.collateral) * 10n ** BigInt(held.decimals) }],
            borrows: [{ reserve: USDC, amountSf: BigInt(debt.amount) * 10n ** BigInt(debt.decimals) * SF }],
            prices: [
              { index: 100, value: BigInt(held.price), exponent: 3n },
              { index: 101, value: BigInt(debt.price), exponent: 3n },
            ],
          })
          const supplied = held.collateral * (held.price / 1000)
          const owes = debt.amount * (debt.price / 1000) * Math.max(1, debt.borrowFactorPct / 100)
          const factor = (supplied * (held.maxLtvPct + 5)) / 100 / owes
          const found = healthFactor(totals)
          if (found === 'max') throw new Error('Expected a debt')
          expect(Number(found.numerator) / Number(found.denominator) / factor).toBeCloseTo(1, 12)
          expect(Number(totals.borrowLimit) / Number(totals.perUsd)).toBeCloseTo((supplied * held.maxLtvPct) / 100, 3)
        },
      ),
      { numRuns: caseCount(200) },
    )
  })
})

describe('isSoundReserve()', () => {
  const sound = (fixture: object) =>
    isSoundReserve(decodeReserve(reserveBytes({ market: toFakeAddress('m'), ...fixture })))

  test.each([
    ['usual', {}, true],
    ['of 36 decimals', { decimals: 36 }, true],
    ['of 37 decimals', { decimals: 37 }, false],
    ['accruing by seconds', { interestRateBasis: 1 }, true],
    ['accruing by nothing that is known', { interestRateBasis: 2 }, false],
    ['taking all interest', { protocolTakeRatePct: 100 }, true],
    ['taking more than all', { protocolTakeRatePct: 101 }, false],
    ['lending all that it is given', { maxLtvPct: 100, liquidationThresholdPct: 100 }, true],
    ['lending more than it is given', { maxLtvPct: 101 }, false],
    ['liquidating above all', { liquidationThresholdPct: 101 }, false],
    ['whose fees exceed all it has', { protocolFeesSf: 1n }, false],
    [
      'whose curve starts late',
      {
        curve: [
          [1, 0],
          [10_000, 5],
        ],
      },
      false,
    ],
    [
      'whose curve ends early',
      {
        curve: [
          [0, 0],
          [9_999, 5],
        ],
      },
      false,
    ],
    [
      'whose curve ends at a thousand times the capital a year',
      {
        curve: [
          [0, 0],
          [10_000, 10_000_000],
        ],
      },
      true,
    ],
    [
      'whose curve is absurd',
      {
        curve: [
          [0, 0],
          [10_000, 10_000_001],
        ],
      },
      false,
    ],
  ])('a reserve %s', (_, fixture, expected) => {
    expect(sound(fixture)).toBe(expected)
  })
})

test('findElevationGroup() finds a group only at its own index', () => {
  const { obligation, market } = createSnapshot({
    changes: { market: { elevationGroups: [{ id: 2, maxLtvPct: 1, liquidationThresholdPct: 2 }] } },
  })
  const at = (elevationGroup: number) => findElevationGroup({ ...obligation, elevationGroup }, market)
  expect(at(0)).toBeUndefined()
  expect(at(2)).toMatchObject({ id: 2, maxLtvPct: 1n, liquidationThresholdPct: 2n })
  expect([at(1), at(3), at(33), at(255)]).toEqual(['unknown', 'unknown', 'unknown', 'unknown'])
})
