import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type Account,
  type Asset,
  computeApy,
  computeBorrows,
  computeSupplies,
  computeTotals,
  isInCategory,
  type MarketTerms,
  type Reserve,
  yieldLegs,
} from '../../../../src/family/aave_v3/math/account.ts'
import { findLiquidationReasons } from '../../../../src/family/aave_v3/math/rule.ts'
import { safeBorrow, safeWithdraw } from '../../../../src/family/aave_v3/math/safe.ts'
import {
  type AccountData,
  decodeLimits,
  type Features,
  type Lender,
  type RawCategory,
} from '../../../../src/family/aave_v3/math/state.ts'
import { safeWithdrawUsd } from '../../../../src/finance/math/lending.ts'
import { APR_RAY_MAX, apyFromApr } from '../../../../src/finance/math/rate.ts'
import {
  compareRational,
  formatRational,
  parseRational,
  type Rational,
  rational,
} from '../../../../src/lib/number/rational.ts'
import { caseCount } from '../../../support/cases.ts'

const UNIT = 10n ** 8n
const WAD = 10n ** 18n
const BPS = 10_000n
const NO_DEBT = 2n ** 256n - 1n
const V3_0: Features = { liquidEModes: false, zeroLtvEModes: false, isolatedEModes: false }
const V3_3: Features = { liquidEModes: true, zeroLtvEModes: false, isolatedEModes: false }
const V3_6: Features = { liquidEModes: true, zeroLtvEModes: true, isolatedEModes: false }
const V3_7: Features = { liquidEModes: true, zeroLtvEModes: true, isolatedEModes: true }

/** 75 % LTV, 80 % threshold, 6 decimals, open, well filled, no yield. */
const RESERVE: Reserve = {
  id: 0,
  ltvBps: 7_500n,
  liquidationThresholdBps: 8_000n,
  decimals: 6,
  isOpen: true,
  isPaused: false,
  legacyCategory: 0,
  debtCeiling: 0n,
  isolationDebt: 0n,
  supplyApyRay: 0n,
  borrowApyRay: 0n,
  withdrawable: 10n ** 30n,
  underBorrowCap: 2n ** 128n - 1n,
  graceUntilSec: 0n,
  isSiloed: false,
}
const CATEGORY: RawCategory = {
  market: 0,
  id: 1,
  answered: true,
  ltvBps: 9_000n,
  liquidationThresholdBps: 9_500n,
  collateralBitmap: 0n,
  zeroLtvBitmap: 0n,
  borrowableBitmap: 2n ** 128n - 1n,
  isolated: false,
  price: 0n,
}

const NOW_SEC = 1_000_000n
const NO_SENTINEL = { refusesLoans: false, delaysLiquidations: false }
/** Reserves that lend: outside eModes and in isolation, in every eMode. */
const LENDERS: readonly Lender[] = [0, 1, 2, 3].map((id) => ({
  id,
  isEnabled: true,
  isEnabledInIsolation: true,
  isSiloed: false,
  legacyCategory: id,
}))
const TERMS: MarketTerms = { timestampSec: NOW_SEC, sentinel: NO_SENTINEL, lenders: LENDERS }

/** An asset at one dollar a token; amounts in raw units. */
function asset(change: Partial<Omit<Asset, 'reserve'>> & { readonly reserve?: Partial<Reserve> }): Asset {
  const { reserve, ...rest } = change
  return {
    isCollateral: true,
    supplied: 0n,
    variableDebt: 0n,
    stableDebt: 0n,
    stableRateRay: 0n,
    price: UNIT,
    ...rest,
    reserve: { ...RESERVE, ...reserve },
  }
}

/** Raw units of so many whole tokens. */
function tokens(count: number): bigint {
  return BigInt(Math.round(count * 1e6))
}

/** So many dollars in market units. */
function dollars(count: number): bigint {
  return BigInt(Math.round(count * 1e8))
}

function account(change: Partial<Omit<Account, 'data'>> & { readonly data?: Partial<AccountData> } = {}): Account {
  const { data, ...rest } = change
  return {
    terms: TERMS,
    unit: UNIT,
    features: V3_6,
    category: undefined,
    assets: [],
    ...rest,
    data: {
      totalCollateral: 0n,
      totalDebt: 0n,
      availableBorrows: 0n,
      liquidationThresholdBps: 0n,
      ltvBps: 0n,
      healthFactorWad: NO_DEBT,
      ...data,
    },
  }
}

/** An account whose pool figures follow from its assets, by the rules of 3.6 outside eMode. */
function consistent(assets: readonly Asset[], change: Partial<Omit<Account, 'data'>> = {}): Account {
  const collaterals = assets.filter(({ isCollateral, supplied }) => isCollateral && supplied > 0n)
  const value = ({ supplied, price, reserve }: Asset) => (supplied * price) / 10n ** BigInt(reserve.decimals)
  const computeDebt = ({ variableDebt, price, reserve }: Asset) => {
    const unit = 10n ** BigInt(reserve.decimals)
    return (variableDebt * price + unit - 1n) / unit
  }
  const sum = (by: (each: Asset) => bigint, of = collaterals) => of.reduce((total, each) => total + by(each), 0n)
  const totalCollateral = sum(value)
  const totalDebt = sum(computeDebt, [...assets])
  const weighted = sum((each) => value(each) * each.reserve.liquidationThresholdBps)
  const ltv = totalCollateral === 0n ? 0n : sum((each) => value(each) * each.reserve.ltvBps) / totalCollateral
  const limit = (totalCollateral * ltv) / BPS
  return account({
    assets,
    ...change,
    data: {
      totalCollateral,
      totalDebt,
      ltvBps: ltv,
      availableBorrows: limit > totalDebt ? limit - totalDebt : 0n,
      liquidationThresholdBps: totalCollateral === 0n ? 0n : weighted / totalCollateral,
      healthFactorWad: totalDebt === 0n ? NO_DEBT : (weighted * WAD + totalDebt / 2n) / totalDebt / BPS,
    },
  })
}

function target(text: string): Rational {
  return parseRational(text) ?? rational(0n, 1n)
}

function usd(value: Rational): string {
  return formatRational(value, { digits: 6 })
}

describe('decodeLimits()', () => {
  test('reads each number at its bits', () => {
    const bits = (value: bigint, from: number) => value << BigInt(from)
    const open = bits(1n, 56)
    const all =
      bits(7_501n, 0) +
      bits(8_002n, 16) +
      bits(18n, 48) +
      open +
      bits(201n, 168) +
      bits(250_000_00n, 212) +
      bits(9n, 252)
    expect(decodeLimits(all)).toEqual({
      ltvBps: 7_501n,
      liquidationThresholdBps: 8_002n,
      decimals: 18,
      isOpen: true,
      isPaused: false,
      legacyCategory: 201,
      isSiloed: false,
      debtCeiling: 250_000_00n,
    })
    const full = (1n << 256n) - 1n
    expect(decodeLimits(full)).toEqual({
      ltvBps: 65_535n,
      liquidationThresholdBps: 65_535n,
      decimals: 255,
      isOpen: false,
      isPaused: true,
      legacyCategory: 255,
      isSiloed: true,
      debtCeiling: 2n ** 40n - 1n,
    })
    expect(decodeLimits(0n).isOpen).toBe(false)
    // Frozen, and not paused, is open: what is supplied can be taken out.
    expect(decodeLimits(open + bits(1n, 57)).isOpen).toBe(true)
    expect(decodeLimits(open + bits(1n, 60)).isOpen).toBe(false)
    // Borrowable in isolation is the next bit, and says nothing of being paused.
    expect(decodeLimits(open + bits(1n, 61))).toMatchObject({ isOpen: true, isSiloed: false })
    expect(decodeLimits(open + bits(1n, 62)).isSiloed).toBe(true)
  })
})

describe('computeApy()', () => {
  test('compounds by the second, up to the highest rate that is compounded', () => {
    expect(computeApy(0n)).toBe(0n)
    const rate = 5n * 10n ** 25n
    expect(Number(computeApy(rate)) / 1e27).toBeCloseTo(Math.expm1(31_536_000 * Math.log1p(0.05 / 31_536_000)), 12)
    expect(computeApy(APR_RAY_MAX)).toBe(apyFromApr(APR_RAY_MAX))
    expect(computeApy(APR_RAY_MAX + 1n)).toBe(apyFromApr(APR_RAY_MAX))
    expect(computeApy(2n ** 128n - 1n)).toBe(apyFromApr(APR_RAY_MAX))
  })
})

describe('isInCategory()', () => {
  const category = { ...CATEGORY, id: 3, collateralBitmap: 0b1010n }
  test.each([
    ['outside of eMode nothing is', { id: 1, legacyCategory: 3 }, { category: undefined, features: V3_6 }, false],
    ['by the bitmap since 3.2', { id: 1, legacyCategory: 0 }, { category, features: V3_3 }, true],
    ['not beside the bitmap', { id: 2, legacyCategory: 3 }, { category, features: V3_6 }, false],
    ['by the reserve’s own category before', { id: 2, legacyCategory: 3 }, { category, features: V3_0 }, true],
    ['not by the bitmap before', { id: 1, legacyCategory: 0 }, { category, features: V3_0 }, false],
  ] as const)('%s', (_, reserve, place, expected) => {
    expect(isInCategory(reserve, place)).toBe(expected)
  })

  test('reads the bit of the last reserve that a pool can have', () => {
    const last = { ...category, collateralBitmap: 1n << 127n }
    expect(isInCategory({ id: 127, legacyCategory: 0 }, { category: last, features: V3_6 })).toBe(true)
    expect(isInCategory({ id: 126, legacyCategory: 0 }, { category: last, features: V3_6 })).toBe(false)
  })
})

describe('computeSupplies() and computeBorrows()', () => {
  const third = { reserve: { decimals: 1, supplyApyRay: 7n, borrowApyRay: 9n }, price: 3n }

  test('round a supply down and a debt up, to a market unit', () => {
    const held = account({ assets: [asset({ ...third, supplied: 19n, variableDebt: 11n })] })
    expect(computeSupplies(held)).toMatchObject([{ value: 5n, apyRay: 7n }])
    expect(computeBorrows(held)).toMatchObject([{ value: 4n, apyRay: 9n }])
    const even = account({ assets: [asset({ ...third, supplied: 20n, variableDebt: 20n })] })
    expect([computeSupplies(even)[0]?.value, computeBorrows(even)[0]?.value]).toEqual([6n, 6n])
  })

  test('keep supplies that are not collateral, and leave out reserves that are only switched on', () => {
    const held = account({ assets: [asset({}), asset({ supplied: 1n, isCollateral: false })] })
    expect(computeSupplies(held).map(({ asset: { isCollateral } }) => isCollateral)).toEqual([false])
    expect(computeBorrows(held)).toEqual([])
  })

  test('tell variable and stable debt of one asset apart, the stable one at the wallet’s own rate', () => {
    const stableRateRay = 8n * 10n ** 25n
    const both = asset({ ...third, variableDebt: 11n, stableDebt: 21n, stableRateRay })
    expect(computeBorrows(account({ assets: [both] }))).toMatchObject([
      { value: 4n, apyRay: 9n },
      { value: 7n, apyRay: computeApy(stableRateRay) },
    ])
    const stable = { ...both, variableDebt: 0n }
    expect(computeBorrows(account({ assets: [stable] })).map(({ value }) => value)).toEqual([7n])
    const variable = { ...both, stableDebt: 0n }
    expect(computeBorrows(account({ assets: [variable] })).map(({ value }) => value)).toEqual([4n])
  })

  test('become legs in the unit of the totals', () => {
    const held = account({ assets: [asset({ ...third, supplied: 19n, variableDebt: 11n })] })
    expect(yieldLegs(held)).toEqual({
      supplies: [{ value: 5n * WAD, apyRay: 7n }],
      borrows: [{ value: 4n * WAD, apyRay: 9n }],
    })
  })
})

describe('computeTotals()', () => {
  test('takes collateral, debt and limits from the pool, and sums supplies', () => {
    const held = account({
      assets: [asset({ supplied: tokens(100) }), asset({ supplied: tokens(50), isCollateral: false })],
      data: {
        totalCollateral: dollars(100),
        totalDebt: dollars(30),
        availableBorrows: dollars(44),
        healthFactorWad: 2_666_666_666_666_666_667n,
        ltvBps: 7_400n,
        liquidationThresholdBps: 8_000n,
      },
    })
    expect(computeTotals(held)).toEqual({
      perUsd: UNIT * WAD,
      supplied: dollars(150) * WAD,
      collateral: dollars(100) * WAD,
      debt: dollars(30) * WAD,
      riskDebt: dollars(30) * WAD,
      liquidationLimit: 2_666_666_666_666_666_667n * dollars(30),
      borrowLimit: dollars(74) * WAD,
    })
  })

  test('calculates the borrowing limit by the average LTV once nothing is available', () => {
    const held = account({ data: { totalCollateral: dollars(100), totalDebt: dollars(90), ltvBps: 7_500n } })
    expect(computeTotals(held).borrowLimit).toBe(dollars(75) * WAD)
  })

  const mixed = [
    asset({ supplied: tokens(100) }),
    asset({ supplied: tokens(200), reserve: { id: 1, liquidationThresholdBps: 7_002n } }),
  ]
  const average = { totalCollateral: dollars(300), liquidationThresholdBps: 7_334n }
  test.each([
    ['since 3.6 sums thresholds exactly', V3_6, dollars(220.04) * WAD],
    ['before 3.6 takes the truncated average', V3_3, (dollars(300) * 7_334n * WAD) / BPS],
    ['in 3.0 too', V3_0, (dollars(300) * 7_334n * WAD) / BPS],
  ] as const)('without debt, %s', (_, features, limit) => {
    expect(computeTotals(account({ assets: mixed, features, data: average })).liquidationLimit).toBe(limit)
  })

  test('without debt takes the pool’s average if the sum does not give it', () => {
    const other = { ...average, liquidationThresholdBps: 7_333n }
    expect(computeTotals(account({ assets: mixed, data: other })).liquidationLimit).toBe(
      (dollars(300) * 7_333n * WAD) / BPS,
    )
  })

  test('with the smallest debt takes the limit from the pool’s health factor', () => {
    const data = { ...average, totalDebt: 1n, healthFactorWad: 5n * WAD }
    expect(computeTotals(account({ assets: mixed, data })).liquidationLimit).toBe(5n * WAD)
  })

  test('without collateral has no limit', () => {
    expect(computeTotals(account({ assets: [asset({ supplied: 5n, isCollateral: false })] })).liquidationLimit).toBe(0n)
  })

  test.each([
    ['its eMode’s threshold in 3.6', V3_6, RESERVE, 9_500n],
    ['its eMode’s threshold in 3.6 with none of its own', V3_6, { ...RESERVE, liquidationThresholdBps: 0n }, 9_500n],
    ['its own beside the eMode', V3_6, { ...RESERVE, id: 5 }, 8_000n],
  ] as const)('counts an asset by %s', (_, features, reserve, thresholdBps) => {
    const held = account({
      features,
      category: { ...CATEGORY, collateralBitmap: 1n },
      assets: [asset({ supplied: tokens(10), reserve })],
      data: { totalCollateral: dollars(10), liquidationThresholdBps: thresholdBps },
    })
    expect(computeTotals(held).liquidationLimit).toBe((dollars(10) * thresholdBps * WAD) / BPS)
  })
})

test('computeTotals() gives the borrowing limit to the unit while the pool lends one more unit', () => {
  const data = { totalCollateral: dollars(10), totalDebt: dollars(5), ltvBps: 7_500n }
  const limit = (availableBorrows: bigint) =>
    computeTotals(account({ data: { ...data, availableBorrows } })).borrowLimit
  expect(limit(1n)).toBe((dollars(5) + 1n) * WAD)
  expect(limit(0n)).toBe((dollars(10) * 7_500n * WAD) / BPS)
})

describe('safeBorrow()', () => {
  /** 100 dollars of collateral in isolation mode, nothing owed by this wallet. */
  const isolated = (change: Partial<Reserve>) =>
    consistent([asset({ supplied: tokens(100), reserve: { debtCeiling: 50_00n, isolationDebt: 40_00n, ...change } })])

  test('ends at the target or at the maximum LTV', () => {
    const held = consistent([asset({ supplied: tokens(1_000) }), asset({ variableDebt: tokens(200) })])
    expect(usd(safeBorrow(held, target('2')))).toBe('200.000000')
    expect(usd(safeBorrow(held, target('1.01')))).toBe('550.000000')
    expect(usd(safeBorrow(held, target('4')))).toBe('0.000000')
    expect(usd(safeBorrow(held, target('5')))).toBe('0.000000')
  })

  test('ends at what is left of the debt ceiling in isolation mode, which is in cents', () => {
    expect(usd(safeBorrow(isolated({}), target('1.5')))).toBe('10.000000')
    expect(usd(safeBorrow(isolated({ isolationDebt: 49_99n }), target('1.5')))).toBe('0.010000')
    expect(usd(safeBorrow(isolated({ isolationDebt: 50_00n }), target('1.5')))).toBe('0.000000')
    expect(usd(safeBorrow(isolated({ isolationDebt: 60_00n }), target('1.5')))).toBe('0.000000')
    expect(usd(safeBorrow(isolated({ isolationDebt: 0n, debtCeiling: 90_00n }), target('1.5')))).toBe('53.333333')
  })

  test('has no ceiling if none is set, beside other collateral, or since 3.7', () => {
    expect(usd(safeBorrow(isolated({ debtCeiling: 0n }), target('1.5')))).toBe('53.333333')
    expect(usd(safeBorrow({ ...isolated({}), features: V3_7 }, target('1.5')))).toBe('53.333333')
    expect(usd(safeBorrow({ ...isolated({}), features: V3_0 }, target('1.5')))).toBe('10.000000')
    const two = consistent([...isolated({}).assets, asset({ supplied: tokens(100), reserve: { id: 1 } })])
    expect(usd(safeBorrow(two, target('1.5')))).toBe('106.666667')
  })

  test('is in isolation mode also with supplies that are not collateral', () => {
    const beside = asset({ supplied: tokens(70), isCollateral: false, reserve: { id: 1 } })
    for (const order of [
      [0, 1],
      [1, 0],
    ] as const) {
      const assets = [...isolated({}).assets, beside]
      const held = consistent(order.map((index) => assets[index] as Asset))
      expect(usd(safeBorrow(held, target('1.5')))).toBe('10.000000')
    }
  })
})

describe('safeWithdraw()', () => {
  const weak = { id: 1, ltvBps: 0n }

  test('takes from all collateral in proportion down to the target', () => {
    const held = consistent([
      asset({ supplied: tokens(1_000) }),
      asset({ supplied: tokens(500), isCollateral: false, reserve: { id: 2 } }),
      asset({ variableDebt: tokens(400), reserve: { id: 3 } }),
    ])
    expect(usd(safeWithdraw(held, target('1.5')))).toBe('250.000000')
    expect(usd(safeWithdraw(held, target('2')))).toBe('0.000000')
    expect(usd(safeWithdraw(held, target('3')))).toBe('0.000000')
  })

  test('without debt is all collateral that the pools can pay', () => {
    const held = consistent([
      asset({ supplied: tokens(1_000), reserve: { withdrawable: tokens(300) } }),
      asset({ supplied: tokens(50), reserve: { id: 1, isOpen: false } }),
      asset({ supplied: tokens(7), reserve: { id: 2 } }),
      asset({ supplied: tokens(9), isCollateral: false, reserve: { id: 3 } }),
    ])
    expect(usd(safeWithdraw(held, target('1.5')))).toBe('307.000000')
  })

  test('with debt and nothing that backs it is nothing', () => {
    const none = consistent([asset({ supplied: tokens(5), isCollateral: false }), asset({ variableDebt: 1n })])
    expect(usd(safeWithdraw(none, target('1.5')))).toBe('0.000000')
    const unweighted = consistent([
      asset({ supplied: tokens(5), reserve: { liquidationThresholdBps: 0n } }),
      asset({ variableDebt: 1n, reserve: { id: 1 } }),
    ])
    expect(usd(safeWithdraw(unweighted, target('1.5')))).toBe('0.000000')
  })

  test('is nothing if the pool counts collateral that cannot be seen', () => {
    const data = { totalCollateral: dollars(9), totalDebt: dollars(1), healthFactorWad: 7n * WAD }
    expect(usd(safeWithdraw(account({ data }), target('1.5')))).toBe('0.000000')
  })

  test('gives the last 10^-18 of a unit that stands above the target', () => {
    const held = (healthFactorWad: bigint) =>
      account({
        assets: [asset({ supplied: tokens(1) })],
        data: { totalCollateral: dollars(1), totalDebt: 1n, healthFactorWad },
      })
    expect(safeWithdraw(held(WAD), target('1')).numerator).toBe(0n)
    expect(safeWithdraw(held(WAD + 1n), target('1')).numerator).toBeGreaterThan(0n)
  })

  test('is nothing at the target, even with collateral without a threshold', () => {
    const held = (debt: number) =>
      consistent([
        asset({ supplied: tokens(1_000) }),
        asset({ supplied: tokens(500), reserve: { ...weak, liquidationThresholdBps: 0n } }),
        asset({ variableDebt: tokens(debt), reserve: { id: 2 } }),
      ])
    expect(usd(safeWithdraw(held(400), target('2')))).toBe('0.000000')
    expect(usd(safeWithdraw(held(399), target('2')))).toBe('502.500000')
  })

  test('takes collateral without LTV first, and touches no other before that is gone', () => {
    const held = (debt: number) =>
      consistent([
        asset({ supplied: tokens(1_000) }),
        asset({ supplied: tokens(500), reserve: weak }),
        asset({ variableDebt: tokens(debt), reserve: { id: 2 } }),
      ])
    // 1,200 of limit. At target 2 a debt of 500 leaves 200: 250 of the weak one.
    expect(usd(safeWithdraw(held(500), target('2')))).toBe('250.000000')
    // At a debt of 400 it just goes altogether.
    expect(usd(safeWithdraw(held(400), target('2')))).toBe('500.000000')
    // A debt of 200 leaves 800: all of the weak one, and 400 of limit from the other.
    expect(usd(safeWithdraw(held(200), target('2')))).toBe('1000.000000')
  })

  test('takes an LTV of a hundredth of a percent for one, also by an eMode', () => {
    const values = (own: bigint, category: bigint, features = V3_6) => {
      const held = account({
        features,
        category: { ...CATEGORY, collateralBitmap: 1n, ltvBps: category },
        assets: [
          asset({ supplied: tokens(500), reserve: { id: 0, ltvBps: own, liquidationThresholdBps: 1_000n } }),
          asset({ supplied: tokens(500), reserve: { id: 1 } }),
          asset({ variableDebt: tokens(100), reserve: { id: 2 } }),
        ],
        data: {
          totalCollateral: dollars(1_000),
          totalDebt: dollars(100),
          healthFactorWad: 4n * WAD,
        },
      })
      return usd(safeWithdraw(held, target('2')))
    }
    expect(values(7_500n, 1n)).toBe(values(7_500n, 9_000n))
    expect(values(7_500n, 0n)).not.toBe(values(7_500n, 1n))
    expect(values(1n, 9_000n, V3_3)).toBe(values(7_500n, 9_000n, V3_3))
    expect(values(0n, 9_000n, V3_3)).not.toBe(values(1n, 9_000n, V3_3))
  })

  test('does not go on to other collateral while some without LTV cannot be taken out', () => {
    const held = (reserve: Partial<Reserve>) =>
      consistent([
        asset({ supplied: tokens(1_000) }),
        asset({ supplied: tokens(500), reserve: { ...weak, ...reserve } }),
        asset({ variableDebt: tokens(200), reserve: { id: 2 } }),
      ])
    expect(usd(safeWithdraw(held({ withdrawable: tokens(120) }), target('2')))).toBe('120.000000')
    expect(safeWithdraw(held({ isOpen: false }), target('2')).numerator).toBe(0n)
    expect(usd(safeWithdraw(held({ withdrawable: tokens(500) }), target('2')))).toBe('1000.000000')
  })

  test('takes of each asset at most what its pool can pay', () => {
    const held = consistent([
      asset({ supplied: tokens(600), reserve: { withdrawable: tokens(100) } }),
      asset({ supplied: tokens(400), reserve: { id: 1 } }),
      asset({ variableDebt: tokens(200), reserve: { id: 2 } }),
    ])
    // Half of all: 300 of the first, of which there are 100, and 200 of the second.
    expect(usd(safeWithdraw(held, target('2')))).toBe('300.000000')
  })

  test.each([
    ['in its eMode with LTV', V3_6, { collateralBitmap: 2n }, RESERVE.ltvBps, false],
    ['in its eMode, which zeroes its LTV', V3_6, { collateralBitmap: 2n, zeroLtvBitmap: 2n }, RESERVE.ltvBps, true],
    ['in an eMode without any LTV', V3_6, { collateralBitmap: 2n, ltvBps: 0n }, RESERVE.ltvBps, true],
    ['in its eMode without an LTV of its own', V3_6, { collateralBitmap: 2n }, 0n, false],
    ['beside the eMode', V3_6, { zeroLtvBitmap: 2n }, RESERVE.ltvBps, false],
    ['beside the eMode without an LTV of its own', V3_6, {}, 0n, true],
    ['beside an isolated eMode', V3_7, { isolated: true }, RESERVE.ltvBps, true],
    ['in an isolated eMode', V3_7, { isolated: true, collateralBitmap: 2n }, RESERVE.ltvBps, false],
    [
      'in an eMode before 3.6, by its own LTV',
      V3_3,
      { collateralBitmap: 2n, zeroLtvBitmap: 2n },
      RESERVE.ltvBps,
      false,
    ],
    ['in an eMode before 3.6 without LTV of its own', V3_3, { collateralBitmap: 2n }, 0n, true],
  ] as const)('%s', (_, features, change, ltvBps, goesFirst) => {
    const assets = [
      asset({ supplied: tokens(1_000) }),
      asset({ supplied: tokens(1_000), reserve: { id: 1, ltvBps, withdrawable: tokens(10) } }),
      asset({ variableDebt: tokens(400), reserve: { id: 2 } }),
    ]
    // Both in the eMode's threshold or neither, so that the limit is 1,600 in any case.
    const category = { ...CATEGORY, liquidationThresholdBps: 8_000n, ...change }
    const first = category.ltvBps === 0n ? 0n : 1n
    const held = {
      ...consistent(assets),
      features,
      category: { ...category, collateralBitmap: category.collateralBitmap | first },
    }
    // 800 of limit may go, 1,000 dollars: if the second goes first it blocks at its 10, else half of each is wanted.
    expect(usd(safeWithdraw(held, target('2')))).toBe(goesFirst ? '10.000000' : '510.000000')
  })

  test('before 3.6 an asset without a threshold of its own backs nothing, even if its eMode has one', () => {
    const assets = [
      asset({ supplied: tokens(1_000) }),
      asset({ supplied: tokens(1_000), reserve: { id: 1, liquidationThresholdBps: 0n } }),
      asset({ variableDebt: tokens(400), reserve: { id: 2 } }),
    ]
    const category = { ...CATEGORY, collateralBitmap: 2n }
    const base = consistent([assets[0] as Asset, assets[2] as Asset], { category })
    expect(usd(safeWithdraw({ ...base, features: V3_3, assets }, target('1.5')))).toBe('250.000000')
  })
})

describe('safe amounts, applied to the account', () => {
  const reserves = fc.record({
    ltvBps: fc.bigInt(0n, 8_000n),
    room: fc.bigInt(1n, 1_500n),
    supplied: fc.oneof(fc.bigInt(1n, 100n), fc.bigInt(1n, 10n ** 15n)),
    price: fc.bigInt(1n, 10n ** 13n),
    decimals: fc.integer({ min: 0, max: 18 }),
    isCollateral: fc.boolean(),
    isOpen: fc.boolean(),
    payable: fc.bigInt(0n, 10n ** 15n),
  })
  const accounts = fc
    .record({ held: fc.array(reserves, { minLength: 1, maxLength: 6 }), debt: fc.bigInt(0n, 10n ** 15n) })
    .map(({ held, debt }) =>
      consistent([
        ...held.map(({ ltvBps, room, payable, decimals, isOpen, ...rest }, id) =>
          asset({
            ...rest,
            reserve: { id, ltvBps, liquidationThresholdBps: ltvBps + room, withdrawable: payable, decimals, isOpen },
          }),
        ),
        asset({ variableDebt: debt, isCollateral: false, reserve: { id: 9 } }),
      ]),
    )
  const targets = fc.bigInt(1_001n, 100_000n).map((thousandths) => rational(thousandths, 1_000n))

  test('are never below zero nor above the collateral, fall with the target, and leave the health factor at it', () => {
    fc.assert(
      fc.property(accounts, targets, (held, at) => {
        const { collateral, perUsd, liquidationLimit, riskDebt } = computeTotals(held)
        const whole = rational(collateral, perUsd)
        const taken = safeWithdraw(held, at)
        expect(compareRational(taken, rational(0n, 1n))).toBeGreaterThanOrEqual(0)
        expect(compareRational(taken, whole)).toBeLessThanOrEqual(0)
        const higher = rational(at.numerator * 2n, at.denominator)
        // To a part in 10^18 of a unit, by which each asset's share is cut.
        const grain = rational(BigInt(held.assets.length), perUsd)
        expect(compareRational(safeWithdraw(held, higher), sum(taken, grain))).toBeLessThanOrEqual(0)
        expect(compareRational(safeBorrow(held, higher), safeBorrow(held, at))).toBeLessThanOrEqual(0)
        if (riskDebt === 0n) return
        // After borrowing what is safe: limit ÷ (debt + borrowed) is the target or more.
        const borrowed = safeBorrow(held, at)
        const after = riskDebt * borrowed.denominator + borrowed.numerator * perUsd
        if (borrowed.numerator > 0n) {
          const factor = rational(liquidationLimit * borrowed.denominator, after)
          expect(compareRational(factor, at)).toBeGreaterThanOrEqual(0)
        }
      }),
      { numRuns: caseCount(400) },
    )
  })

  test('of open, well filled collateral with LTV are what the general formula says', () => {
    fc.assert(
      fc.property(accounts, targets, (held, at) => {
        const assets = held.assets.map((each) => ({
          ...each,
          reserve: { ...each.reserve, isOpen: true, ltvBps: 1n, withdrawable: each.supplied },
        }))
        const open = { ...held, assets }
        const grain = rational(BigInt(assets.length), computeTotals(open).perUsd)
        const [ours, general] = [safeWithdraw(open, at), safeWithdrawUsd(computeTotals(open), at)]
        expect(compareRational(ours, general)).toBeLessThanOrEqual(0)
        expect(compareRational(sum(ours, grain), general)).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: caseCount(400) },
    )
  })
})

function sum(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)
}

describe('findLiquidationReasons()', () => {
  const held = (debt: number, supplied: Partial<Reserve> = {}, owed: Partial<Reserve> = {}) =>
    findLiquidationReasons(
      consistent([
        asset({ supplied: tokens(1_000), reserve: supplied }),
        asset({ variableDebt: tokens(debt), reserve: { id: 1, ...owed } }),
      ]),
    )

  test('is a health factor below 1', () => {
    expect([held(799), held(801), held(0)]).toEqual([[], ['health_factor'], []])
  })

  test('is none while the reserve of all collateral or of all debt is paused or inactive', () => {
    expect(held(801, { isOpen: false })).toEqual([])
    expect(held(801, {}, { isOpen: false })).toEqual([])
  })
})
