import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type BoundlessRatio,
  borrowUtilization,
  currentLtv,
  dailyInterest,
  healthFactor,
  type LendingTotals,
  liquidationThreshold,
  netApy,
  positionLeverage,
  projection,
  safeBorrowUsd,
  safeWithdrawUsd,
  weightedApy,
} from '../../../../src/finance/math/lending.ts'
import { RAY } from '../../../../src/finance/math/rate.ts'
import {
  compareRational,
  formatRational,
  parseRational,
  type Rational,
  rational,
} from '../../../../src/lib/number/rational.ts'
import { caseCount } from '../../../support/cases.ts'

const PER_USD = 10n ** 8n

/** 10,000 supplied at 80 % threshold and 75 % loan-to-value, 4,000 owed. */
const TYPICAL: LendingTotals = {
  perUsd: PER_USD,
  supplied: 10_000n * PER_USD,
  collateral: 10_000n * PER_USD,
  debt: 4_000n * PER_USD,
  riskDebt: 4_000n * PER_USD,
  liquidationLimit: 8_000n * PER_USD,
  borrowLimit: 7_500n * PER_USD,
}
const EMPTY: LendingTotals = {
  perUsd: PER_USD,
  supplied: 0n,
  collateral: 0n,
  debt: 0n,
  riskDebt: 0n,
  liquidationLimit: 0n,
  borrowLimit: 0n,
}
const NO_DEBT = { ...TYPICAL, debt: 0n, riskDebt: 0n }
const INSOLVENT = { ...TYPICAL, debt: 11_000n * PER_USD, riskDebt: 11_000n * PER_USD }
const ALL_OWED = { ...TYPICAL, debt: TYPICAL.supplied, riskDebt: TYPICAL.supplied }
const NOTHING_UNDER_IT = { ...EMPTY, debt: 5n, riskDebt: 5n }

function text(value: BoundlessRatio, digits = 6): string {
  return value === 'max' ? 'MAX' : formatRational(value, { digits })
}

function target(decimal: string): Rational {
  return parseRational(decimal) ?? rational(0n, 1n)
}

describe('figures of a position', () => {
  test.each([
    ['typical', TYPICAL, ['2.000000', '0.400000', '0.800000', '0.533333', '1.666667']],
    ['without debt', NO_DEBT, ['MAX', '0.000000', '0.800000', '0.000000', '1.000000']],
    ['insolvent', INSOLVENT, ['0.727273', '1.100000', '0.800000', '1.466667', 'MAX']],
    ['empty', EMPTY, ['MAX', '0.000000', '0.000000', '0.000000', '1.000000']],
    ['owing all of it', ALL_OWED, ['0.800000', '1.000000', '0.800000', '1.333333', 'MAX']],
    ['debt with nothing under it', NOTHING_UNDER_IT, ['0.000000', '0.000000', '0.000000', 'MAX', 'MAX']],
  ])('%s: health factor, loan-to-value, threshold, utilization, leverage', (_, totals, expected) => {
    expect(
      [healthFactor, currentLtv, liquidationThreshold, borrowUtilization, positionLeverage].map((figure) =>
        text(figure(totals)),
      ),
    ).toEqual(expected)
  })

  test('use the risk debt, but leverage uses the real debt', () => {
    const factored = { ...TYPICAL, riskDebt: 5_000n * PER_USD }
    expect(text(healthFactor(factored))).toBe('1.600000')
    expect(text(currentLtv(factored))).toBe('0.500000')
    expect(text(positionLeverage(factored))).toBe('1.666667')
  })

  test('use the collateral, but leverage uses everything supplied', () => {
    const half = { ...TYPICAL, collateral: 5_000n * PER_USD, liquidationLimit: 4_000n * PER_USD }
    expect(text(currentLtv(half))).toBe('0.800000')
    expect(text(liquidationThreshold(half))).toBe('0.800000')
    expect(text(positionLeverage(half))).toBe('1.666667')
  })
})

describe('safeBorrowUsd()', () => {
  test.each([
    ['is the way to the target', TYPICAL, '1.5', '1333.333333'],
    ['ends at the borrowing limit', TYPICAL, '1.01', '3500.000000'],
    ['is nothing at a target already missed', TYPICAL, '2.5', '0.000000'],
    ['is nothing at a target just met', TYPICAL, '2', '0.000000'],
    ['without debt is the whole limit', NO_DEBT, '1.5', '5333.333333'],
    ['of an insolvent position is nothing', INSOLVENT, '1.5', '0.000000'],
    ['of an empty position is nothing', EMPTY, '1.5', '0.000000'],
  ])('%s', (_, totals, at, expected) => {
    expect(text(safeBorrowUsd(totals, target(at)))).toBe(expected)
  })

  test('is exact to the last unit of room', () => {
    const one = { ...EMPTY, liquidationLimit: 2n, borrowLimit: 1n, perUsd: 1n }
    expect(text(safeBorrowUsd(one, target('1.00000001')))).toBe('1.000000')
    expect(text(safeBorrowUsd({ ...one, riskDebt: 1n }, target('1.00000001')))).toBe('0.000000')
  })
})

describe('safeWithdrawUsd()', () => {
  test.each([
    ['is the way to the target', TYPICAL, '1.5', '2500.000000'],
    ['is nothing at a target already missed', TYPICAL, '2.5', '0.000000'],
    ['without debt is all of it', NO_DEBT, '1.5', '10000.000000'],
    ['without debt and threshold is all of it', { ...NO_DEBT, liquidationLimit: 0n }, '1.5', '10000.000000'],
    ['with debt and no threshold is nothing', { ...TYPICAL, liquidationLimit: 0n }, '1.5', '0.000000'],
    ['of an insolvent position is nothing', INSOLVENT, '1.5', '0.000000'],
    ['of an empty position is nothing', EMPTY, '1.5', '0.000000'],
  ])('%s', (_, totals, at, expected) => {
    expect(text(safeWithdrawUsd(totals, target(at)))).toBe(expected)
  })
})

/** Positions from dust to the wealth of nations, solvent or not, each limit below the next. */
const positions: fc.Arbitrary<LendingTotals> = fc
  .record({
    perUsd: fc.constantFrom(1n, PER_USD, 1n << 60n, (1n << 120n) * 10n ** 24n),
    collateral: fc.oneof(fc.bigInt(0n, 100n), fc.bigInt(0n, 10n ** 30n)),
    idle: fc.bigInt(0n, 10n ** 20n),
    debt: fc.oneof(fc.constant(0n), fc.bigInt(0n, 100n), fc.bigInt(0n, 10n ** 30n)),
    factorPct: fc.bigInt(100n, 300n),
    thresholdBps: fc.bigInt(0n, 10_000n),
    ltvPct: fc.bigInt(0n, 100n),
  })
  .map(({ perUsd, collateral, idle, debt, factorPct, thresholdBps, ltvPct }) => ({
    perUsd,
    supplied: (collateral + idle) * 1_000_000n,
    collateral: collateral * 1_000_000n,
    debt: debt * 1_000_000n,
    riskDebt: debt * 10_000n * factorPct,
    liquidationLimit: collateral * thresholdBps * 100n,
    borrowLimit: collateral * thresholdBps * ltvPct,
  }))
const targets = fc.bigInt(1001n, 100_000n).map((thousandths) => rational(thousandths, 1000n))

/** Health factor against a target, exactly; without debt above every target. */
function against(totals: LendingTotals, at: Rational): number {
  const factor = healthFactor(totals)
  return factor === 'max' ? 1 : compareRational(factor, at)
}

/** The position after its unit is made so fine that `usd` of it is a whole number. */
function finer(totals: LendingTotals, { denominator }: Rational): LendingTotals {
  return {
    perUsd: totals.perUsd * denominator,
    supplied: totals.supplied * denominator,
    collateral: totals.collateral * denominator,
    debt: totals.debt * denominator,
    riskDebt: totals.riskDebt * denominator,
    liquidationLimit: totals.liquidationLimit * denominator,
    borrowLimit: totals.borrowLimit * denominator,
  }
}

describe('safe amounts, carried out', () => {
  test('a safe borrow lands exactly on the target, or on the borrowing limit if that is nearer', () => {
    fc.assert(
      fc.property(positions, targets, (totals, at) => {
        const safe = safeBorrowUsd(totals, at)
        const before = finer(totals, safe)
        const riskDebt = before.riskDebt + safe.numerator * totals.perUsd
        const after = { ...before, riskDebt }
        if (safe.numerator === 0n) {
          expect(against(totals, at) <= 0 || totals.riskDebt >= totals.borrowLimit || totals.borrowLimit === 0n).toBe(
            true,
          )
        } else {
          expect(against(after, at) === 0 || (against(after, at) > 0 && riskDebt === after.borrowLimit)).toBe(true)
        }
      }),
      { numRuns: caseCount(500) },
    )
  })

  test('a safe withdrawal from all collateral in proportion lands exactly on the target, or leaves nothing', () => {
    fc.assert(
      fc.property(positions, targets, (totals, at) => {
        const safe = safeWithdrawUsd(totals, at)
        const share = rational(safe.numerator * totals.perUsd, safe.denominator)
        expect(compareRational(share, rational(totals.collateral, 1n)) <= 0).toBe(true)
        if (totals.riskDebt === 0n) return expect(compareRational(share, rational(totals.collateral, 1n))).toBe(0)
        if (safe.numerator === 0n) return expect(against(totals, at) <= 0 || totals.collateral === 0n).toBe(true)
        // What is left of the threshold: limit × (1 − share ÷ collateral).
        const left = totals.liquidationLimit * (totals.collateral * share.denominator - share.numerator)
        const factor = rational(left, totals.collateral * share.denominator * totals.riskDebt)
        return expect(compareRational(factor, at)).toBe(0)
      }),
      { numRuns: caseCount(500) },
    )
  })

  test('a higher target never allows more', () => {
    fc.assert(
      fc.property(positions, targets, targets, (totals, one, other) => {
        const [low, high] = compareRational(one, other) <= 0 ? [one, other] : [other, one]
        expect(compareRational(safeBorrowUsd(totals, high), safeBorrowUsd(totals, low)) <= 0).toBe(true)
        expect(compareRational(safeWithdrawUsd(totals, high), safeWithdrawUsd(totals, low)) <= 0).toBe(true)
      }),
    )
  })

  test('more debt never raises the health factor or what is safe, and never lowers utilization', () => {
    fc.assert(
      fc.property(positions, fc.bigInt(1n, 10n ** 20n), targets, (totals, more, at) => {
        const deeper = { ...totals, debt: totals.debt + more, riskDebt: totals.riskDebt + more }
        const [before, after] = [healthFactor(totals), healthFactor(deeper)]
        expect(after !== 'max' && (before === 'max' || compareRational(after, before) <= 0)).toBe(true)
        expect(compareRational(safeBorrowUsd(deeper, at), safeBorrowUsd(totals, at)) <= 0).toBe(true)
        expect(compareRational(safeWithdrawUsd(deeper, at), safeWithdrawUsd(totals, at)) <= 0).toBe(true)
        const [used, fuller] = [borrowUtilization(totals), borrowUtilization(deeper)]
        expect(fuller === 'max' || (used !== 'max' && compareRational(fuller, used) >= 0)).toBe(true)
      }),
    )
  })
})

const legs = fc.array(fc.record({ value: fc.bigInt(0n, 10n ** 20n), apyRay: fc.bigInt(0n, 3n * RAY) }), {
  maxLength: 8,
})

describe('yields', () => {
  test('are weighted by value', () => {
    const supplies = [
      { value: 3_000n * PER_USD, apyRay: RAY / 10n },
      { value: 1_000n * PER_USD, apyRay: RAY / 50n },
    ]
    const borrows = [{ value: 1_000n * PER_USD, apyRay: RAY / 5n }]
    const totals = { ...TYPICAL, supplied: 4_000n * PER_USD, debt: 1_000n * PER_USD }
    expect(text(weightedApy(supplies), 8)).toBe('0.08000000')
    expect(text(weightedApy(borrows), 8)).toBe('0.20000000')
    expect(text(netApy(totals, { supplies, borrows }), 8)).toBe('0.04000000')
    const interest = dailyInterest(totals, { supplies, borrows })
    expect(text(interest.dailySupplyUsd)).toBe('0.876712')
    expect(text(interest.dailyBorrowUsd)).toBe('0.547945')
    expect(text(interest.dailyNetUsd)).toBe('0.328767')
    const { dailyUsd, weeklyUsd, monthlyUsd, yearlyUsd } = projection(interest)
    expect([dailyUsd, weeklyUsd, monthlyUsd, yearlyUsd].map((each) => text(each))).toEqual([
      '0.328767',
      '2.301370',
      '9.863014',
      '120.000000',
    ])
  })

  test('are 0 without value, and net of a net worth of zero or less', () => {
    expect(text(weightedApy([]))).toBe('0.000000')
    const borrows = [{ value: 1n, apyRay: RAY }]
    expect(text(netApy(INSOLVENT, { supplies: [], borrows }))).toBe('0.000000')
    expect(text(netApy({ ...TYPICAL, debt: TYPICAL.supplied }, { supplies: [], borrows }))).toBe('0.000000')
  })

  test('of a position that costs more than it earns are negative', () => {
    const borrows = [{ value: TYPICAL.debt, apyRay: RAY / 2n }]
    expect(text(netApy(TYPICAL, { supplies: [], borrows }), 8)).toBe('-0.33333333')
    expect(text(projection(dailyInterest(TYPICAL, { supplies: [], borrows })).yearlyUsd)).toBe('-2000.000000')
  })

  test('net APY × net worth is 365 × net daily interest, exactly', () => {
    fc.assert(
      fc.property(legs, legs, (supplies, borrows) => {
        const supplied = supplies.reduce((sum, { value }) => sum + value, 0n)
        const debt = borrows.reduce((sum, { value }) => sum + value, 0n)
        fc.pre(supplied > debt)
        const totals = { ...TYPICAL, supplied, debt }
        const net = netApy(totals, { supplies, borrows })
        const { dailyNetUsd } = dailyInterest(totals, { supplies, borrows })
        const yearly = rational(net.numerator * (supplied - debt), net.denominator * PER_USD)
        expect(compareRational(yearly, rational(dailyNetUsd.numerator * 365n, dailyNetUsd.denominator))).toBe(0)
      }),
    )
  })

  test('a weighted APY is between the lowest and the highest', () => {
    fc.assert(
      fc.property(legs, (each) => {
        const held = each.filter(({ value }) => value > 0n)
        fc.pre(held.length > 0)
        const apys = held.map(({ apyRay }) => apyRay).sort((a, b) => (a < b ? -1 : 1))
        const average = weightedApy(each)
        expect(compareRational(average, rational(apys[0] ?? 0n, RAY)) >= 0).toBe(true)
        expect(compareRational(average, rational(apys.at(-1) ?? 0n, RAY)) <= 0).toBe(true)
      }),
    )
  })
})
