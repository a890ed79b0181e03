import { describe, expect, test } from 'bun:test'
import { MarketUtils, MathLib } from '@morpho-org/blue-sdk'
import fc from 'fast-check'
import {
  accrue,
  borrowApyRay,
  healthFactor,
  RATE_WAD_MAX,
  supplyApyRay,
  toAssets,
  valuePosition,
} from '../../../../src/family/morpho_blue/math/market.ts'
import { findLiquidationReasons, type RuleInput } from '../../../../src/family/morpho_blue/math/rule.ts'
import type { MarketState } from '../../../../src/family/morpho_blue/math/state.ts'
import {
  currentLtv,
  dailyInterest,
  netApy,
  positionLeverage,
  healthFactor as totalHealth,
  weightedApy,
} from '../../../../src/finance/math/lending.ts'
import { RAY } from '../../../../src/finance/math/rate.ts'
import { WAD } from '../../../../src/lib/number/fixed_point.ts'
import { formatRational, rational } from '../../../../src/lib/number/rational.ts'
import { caseCount } from '../../../support/cases.ts'

const YEAR = 31_536_000n
const USDC = 10n ** 6n
const ETHER = 10n ** 18n

/** A million supplied, half of it lent, a fee of a tenth. */
const MARKET: MarketState = {
  totalSupplyAssets: 1_000_000n * USDC,
  totalSupplyShares: 1_000_000n * USDC * 10n ** 6n,
  totalBorrowAssets: 500_000n * USDC,
  totalBorrowShares: 500_000n * USDC * 10n ** 6n,
  lastUpdateSec: 1_700_000_000n,
  feeWad: WAD / 10n,
}

const amount = fc.bigInt({ min: 0n, max: 10n ** 30n })
const anyMarket = fc
  .record({
    lent: amount,
    idle: amount,
    supplyShares: amount,
    borrowShares: amount,
    feePct: fc.bigInt({ min: 0n, max: 25n }),
  })
  .map(
    ({ lent, idle, supplyShares, borrowShares, feePct }): MarketState => ({
      totalSupplyAssets: lent + idle,
      totalSupplyShares: supplyShares,
      totalBorrowAssets: lent,
      totalBorrowShares: borrowShares,
      lastUpdateSec: MARKET.lastUpdateSec,
      feeWad: (feePct * WAD) / 100n,
    }),
  )

describe('accrue()', () => {
  test('adds the same interest to both totals and gives the fee recipient its part', () => {
    // 5 % a year, a little less by the rounding of a rate per second, for a year: x + x²/2 + x³/6 of 500,000.
    const averageRateWad = (50n * 10n ** 15n) / YEAR
    const { market, feeShares } = accrue(MARKET, { averageRateWad, timestampSec: MARKET.lastUpdateSec + YEAR })
    const interest = market.totalBorrowAssets - MARKET.totalBorrowAssets
    expect(interest).toBe(25_635_416_663n)
    expect(market.totalSupplyAssets - MARKET.totalSupplyAssets).toBe(interest)
    expect(market.lastUpdateSec).toBe(MARKET.lastUpdateSec + YEAR)
    const fee = toAssets({ supplyShares: feeShares, borrowShares: 0n }, market).supplied
    expect(interest / 10n - fee).toBeLessThanOrEqual(1n)
  })

  test('changes nothing in no time, and at no rate only the time', () => {
    const same = accrue(MARKET, { averageRateWad: 10n ** 9n, timestampSec: MARKET.lastUpdateSec })
    expect(same).toEqual({ market: MARKET, feeShares: 0n })
    const later = accrue(MARKET, { averageRateWad: 0n, timestampSec: MARKET.lastUpdateSec + 5n })
    expect(later).toEqual({ market: { ...MARKET, lastUpdateSec: MARKET.lastUpdateSec + 5n }, feeShares: 0n })
  })

  test('refuses to go back in time', () => {
    const past = { averageRateWad: 1n, timestampSec: MARKET.lastUpdateSec - 1n }
    expect(() => accrue(MARKET, past)).toThrow(RangeError)
  })

  test('equals what Morpho’s SDK calculates, in every market', () => {
    const rate = fc.bigInt({ min: 0n, max: RATE_WAD_MAX })
    fc.assert(
      fc.property(anyMarket, rate, fc.bigInt({ min: 0n, max: 3n * YEAR }), (market, averageRateWad, elapsed) => {
        const timestampSec = market.lastUpdateSec + elapsed
        const { market: after, feeShares } = accrue(market, { averageRateWad, timestampSec })
        const theirs = MarketUtils.getAccruedInterest(averageRateWad, { ...market, fee: market.feeWad }, elapsed)
        expect(after.totalBorrowAssets - market.totalBorrowAssets).toBe(theirs.interest)
        expect(feeShares).toBe(theirs.feeShares)
      }),
      { numRuns: caseCount(1_000) },
    )
  })
})

describe('toAssets()', () => {
  test('rounds what is supplied down and what is owed up', () => {
    const market = {
      ...MARKET,
      totalSupplyAssets: 3n,
      totalSupplyShares: 0n,
      totalBorrowAssets: 3n,
      totalBorrowShares: 0n,
    }
    expect(toAssets({ supplyShares: 1n, borrowShares: 1n }, market)).toEqual({ supplied: 0n, owed: 1n })
    expect(toAssets({ supplyShares: 0n, borrowShares: 0n }, market)).toEqual({ supplied: 0n, owed: 0n })
  })

  test("equals the result of Morpho's SDK", () => {
    fc.assert(
      fc.property(anyMarket, amount, amount, (market, supplyShares, borrowShares) => {
        expect(toAssets({ supplyShares, borrowShares }, market)).toEqual({
          supplied: MarketUtils.toSupplyAssets(supplyShares, market),
          owed: MarketUtils.toBorrowAssets(borrowShares, market),
        })
      }),
      { numRuns: caseCount(1_000) },
    )
  })
})

describe('healthFactor()', () => {
  /** One ether at 3,000 USDC, liquidated at 86 %. */
  const health = { collateral: ETHER, oraclePrice: 3_000n * 10n ** 24n, lltvWad: 86n * 10n ** 16n, owed: 2_000n * USDC }
  const text = (change: Partial<typeof health>) => {
    const value = healthFactor({ ...health, ...change })
    return value === 'max' ? 'MAX' : formatRational(value, { digits: 4, rounding: 'toward_zero' })
  }

  test('is collateral × price × liquidation loan-to-value ÷ debt, never overstated', () => {
    expect(text({})).toBe('1.2900')
    expect(text({ owed: 2_000n * USDC + 1n })).toBe('1.2899')
    expect(text({ owed: 2_580n * USDC })).toBe('1.0000')
    expect(text({ owed: 2_580n * USDC + 1n })).toBe('0.9999')
  })

  test('is MAX without debt, and zero without collateral or price', () => {
    expect(text({ owed: 0n })).toBe('MAX')
    expect(text({ owed: 0n, collateral: 0n })).toBe('MAX')
    expect(text({ collateral: 0n })).toBe('0.0000')
    expect(text({ oraclePrice: 0n })).toBe('0.0000')
  })

  test('rounds the collateral down to raw units of the loan token, as the contract does', () => {
    // A worth of 1.99 units counts as 1, and 86 % of 1 rounds down to 0.
    expect(text({ collateral: 1n, oraclePrice: 199n * 10n ** 34n, owed: 1n })).toBe('0.0000')
  })

  test("equals the result of Morpho's SDK", () => {
    const input = fc.record({
      collateral: amount,
      oraclePrice: amount,
      owed: amount,
      ltv: fc.bigInt({ min: 0n, max: 98n }),
    })
    fc.assert(
      fc.property(input, ({ collateral, oraclePrice, owed, ltv }) => {
        const lltv = (ltv * WAD) / 100n
        const value = healthFactor({ collateral, oraclePrice, owed, lltvWad: lltv })
        const books = { totalBorrowAssets: owed, totalBorrowShares: 0n, price: oraclePrice }
        const worth = MarketUtils.getMaxBorrowAssets(collateral, books, { lltv }) ?? -1n
        if (value === 'max') expect(owed).toBe(0n)
        else expect((value.numerator * WAD) / value.denominator).toBe(MathLib.wDivDown(worth, owed))
      }),
      { numRuns: caseCount(1_000) },
    )
  })
})

describe('yields', () => {
  const fivePercent = (50n * 10n ** 15n) / YEAR

  test('borrowApyRay() compounds continuously', () => {
    expect(borrowApyRay(0n)).toBe(0n)
    expect(Number(borrowApyRay(fivePercent)) / Number(RAY)).toBeCloseTo(Math.expm1(0.05), 9)
    expect(Number(borrowApyRay((8n * WAD) / YEAR)) / Number(RAY)).toBeCloseTo(Math.expm1(8), 4)
    expect(borrowApyRay(RATE_WAD_MAX)).toBeGreaterThan(RAY)
    // A hundred times the capital in a year.
    expect(RATE_WAD_MAX).toBe(3_170_979_198_376n)
  })

  test('supplyApyRay() is the rate on what is lent, without the fee', () => {
    expect(Number(supplyApyRay(fivePercent, MARKET)) / Number(RAY)).toBeCloseTo(Math.expm1(0.05 * 0.5 * 0.9), 9)
    expect(supplyApyRay(fivePercent, { ...MARKET, totalBorrowAssets: 0n })).toBe(0n)
    expect(supplyApyRay(fivePercent, { ...MARKET, totalSupplyAssets: 0n, totalBorrowAssets: 0n })).toBe(0n)
    expect(supplyApyRay(0n, MARKET)).toBe(0n)
  })
})

describe('valuePosition()', () => {
  /** 100 USDC lent, an ether at 3,000 USDC as collateral for 2,000, the dollar at 0.99. */
  const position = {
    supplied: 100n * USDC,
    owed: 2_000n * USDC,
    collateral: ETHER,
    oraclePrice: 3_000n * 10n ** 24n,
    lltvWad: 86n * 10n ** 16n,
    loanUsd: rational(99n, 100n * USDC),
    supplyApyRay: RAY / 25n,
    borrowApyRay: RAY / 20n,
  }

  test('does not round, and values the collateral by the oracle', () => {
    const { totals, supplies, borrows } = valuePosition(position)
    const text = (value: bigint) => formatRational(rational(value, totals.perUsd), { digits: 6 })
    expect([totals.supplied, totals.collateral, totals.debt, totals.riskDebt].map(text)).toEqual([
      ...['3069.000000', '2970.000000', '1980.000000', '1980.000000'],
    ])
    expect([totals.liquidationLimit, totals.borrowLimit].map(text)).toEqual(['2554.200000', '2554.200000'])
    const eight = (value: ReturnType<typeof netApy> | 'max') =>
      value === 'max' ? 'MAX' : formatRational(value, { digits: 8 })
    expect(eight(totalHealth(totals))).toBe('1.29000000')
    expect(eight(currentLtv(totals))).toBe('0.66666667')
    expect(eight(positionLeverage(totals))).toBe('2.81818182')
    expect(eight(weightedApy(supplies))).toBe('0.00129032')
    expect(eight(weightedApy(borrows))).toBe('0.05000000')
    expect(eight(netApy(totals, { supplies, borrows }))).toBe('-0.08727273')
    const { dailyNetUsd } = dailyInterest(totals, { supplies, borrows })
    expect(formatRational(dailyNetUsd, { digits: 6 })).toBe('-0.260384')
  })

  test('does not round the worth of a token without decimals', () => {
    const small = { ...position, supplied: 0n, owed: 0n, collateral: 1n, oraclePrice: 1n, loanUsd: rational(1n, 1n) }
    const { totals } = valuePosition(small)
    expect(totals.supplied * 10n ** 36n).toBe(totals.perUsd)
  })
})

test('findLiquidationReasons() is a health factor below 1, which the contract can compute', () => {
  const reasons = [undefined, 'max', rational(1n, 1n), rational(999n, 1_000n)] as const
  const input = { isAccrued: true, oraclePrice: 1n, supplied: 0n, owed: 1n, market: MARKET }
  const find = (change: Partial<RuleInput> = {}) =>
    reasons.map((health) => findLiquidationReasons({ ...input, ...change }, health))
  expect(find()).toEqual([[], [], [], ['health_factor']])
  // The contract reverts: with a model that refuses to accrue, or an oracle that it asks of every debt.
  expect(find({ isAccrued: false })).toEqual([[], [], [], []])
  expect(find({ oraclePrice: undefined })).toEqual([[], [], [], []])
})
