import { describe, expect, test } from 'bun:test'
import {
  type Account,
  computeHealthFactor,
  findLiquidationReasons,
  valueAccount,
} from '../../../../src/family/compound_v3/math/account.ts'
import { accrue, toApyRay } from '../../../../src/family/compound_v3/math/market.ts'
import {
  computeWithdrawableCollateral,
  safeBorrow,
  safeWithdraw,
} from '../../../../src/family/compound_v3/math/withdrawal.ts'
import { computeMarketPrice } from '../../../../src/family/compound_v3/present/holdings.ts'
import { formatUsd } from '../../../../src/finance/figure.ts'
import type { LendingPosition } from '../../../../src/finance/math/lending.ts'
import { noPriceBecause } from '../../../../src/finance/price/price.ts'
import { rational } from '../../../../src/lib/number/rational.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'
import { WORLDS } from '../../../devnet/compound_v3/vectors.ts'
import { mulberry } from '../../../support/random.ts'

const WAD = 10n ** 18n

/** Values of fields that the vectors have as texts. */
function toInts<Names extends string>(texts: Readonly<Record<Names, string>>): Record<Names, bigint> {
  const entries = Object.entries<string>(texts).map(([name, text]) => [name, BigInt(text)])
  return Object.fromEntries(entries) as Record<Names, bigint>
}

for (const { contract, parameters, totals, accruedNow, block } of WORLDS) {
  const ints = toInts(parameters)

  test(`the rates that a market tells are those of its kinks and slopes: ${contract}`, () => {
    const utilization = BigInt(accruedNow.utilization)
    const toRate = (side: 'supply' | 'borrow') => {
      const [kink, base] = [ints[`${side}Kink`], ints[`${side}PerSecondInterestRateBase`]]
      const [low, high] = [ints[`${side}PerSecondInterestRateSlopeLow`], ints[`${side}PerSecondInterestRateSlopeHigh`]]
      return utilization <= kink
        ? base + (low * utilization) / WAD
        : base + (low * kink) / WAD + (high * (utilization - kink)) / WAD
    }
    expect(String(toRate('supply'))).toBe(accruedNow.supplyRate)
    expect(String(toRate('borrow'))).toBe(accruedNow.borrowRate)
  })

  test(`a market accrues as the contract did: ${contract}`, () => {
    const { lastAccrualTime, ...stored } = totals
    const terms = {
      baseScale: ints.baseScale,
      supplyRateWad: BigInt(accruedNow.supplyRate),
      borrowRateWad: BigInt(accruedNow.borrowRate),
      supplySpeed: ints.baseTrackingSupplySpeed,
      borrowSpeed: ints.baseTrackingBorrowSpeed,
      trackingIndexScale: ints.trackingIndexScale,
      minForRewards: ints.baseMinForRewards,
    }
    const before = { ...toInts(stored), lastAccrualSec: BigInt(lastAccrualTime), pauseFlags: 0 }
    const after = accrue(before, terms, BigInt(block.timestamp))
    const { baseSupplyIndex, baseBorrowIndex, trackingSupplyIndex, trackingBorrowIndex } = after
    expect([baseSupplyIndex, baseBorrowIndex, trackingSupplyIndex, trackingBorrowIndex].map(String)).toEqual([
      accruedNow.baseSupplyIndex,
      accruedNow.baseBorrowIndex,
      accruedNow.trackingSupplyIndex,
      accruedNow.trackingBorrowIndex,
    ])
    // Below the least total nothing is given.
    const poor = accrue(before, { ...terms, minForRewards: 10n ** 30n }, BigInt(block.timestamp))
    expect(String(poor.trackingSupplyIndex)).toBe(totals.trackingSupplyIndex)
    expect(() => accrue(before, terms, BigInt(lastAccrualTime) - 1n)).toThrow(RangeError)
  })
}

/** A token of so many digits and dollars. */
function createToken(name: string, decimals: number, dollars?: bigint) {
  const price =
    dollars === undefined
      ? noPriceBecause('of this test')
      : ({ kind: 'price', price: { units: dollars, scale: 0, source: 'feed' } } as const)
  return { address: toWalletAddress(name), symbol: name, name, decimals, asWritten: { symbol: name, name }, price }
}

const TERMS = {
  baseScale: 10n ** 18n,
  supplyRateWad: 10n ** 9n,
  borrowRateWad: 2n * 10n ** 9n,
  supplySpeed: 0n,
  borrowSpeed: 0n,
  trackingIndexScale: 1n,
  minForRewards: 0n,
}

/** An account in a market whose feeds answer in its base token, of 3,000 dollars: two collaterals, and a debt if one is given. */
function createAccount(owed: bigint, more: Partial<Account> = {}): Account {
  const collateral = (name: string, amount: bigint, price: bigint) => ({
    token: createToken(name, 18, (price * 3_000n) / 10n ** 8n),
    amount,
    price,
    scale: WAD,
    borrowFactorWad: (8n * WAD) / 10n,
    liquidateFactorWad: (85n * WAD) / 100n,
  })
  return {
    base: createToken('base', 18, 3_000n),
    terms: TERMS,
    price: 10n ** 8n,
    supplied: 0n,
    owed,
    storedOwed: owed,
    isBorrower: owed > 0n,
    collaterals: [collateral('first', 10n * WAD, 10n ** 8n), collateral('second', 5n * WAD, 2n * 10n ** 8n)],
    reward: undefined,
    idle: 1_000n * WAD,
    isWithdrawPaused: false,
    isAbsorbPaused: false,
    ...more,
  }
}

function toLending(account: Account): LendingPosition {
  const value = valueAccount(account)
  if (typeof value === 'string') throw new Error(value)
  return value
}

describe('withdrawals of collateral', () => {
  /** The contract's rule, asset after asset. */
  const isCollateralized = ({ storedOwed, price = 0n, collaterals }: Account, index: number, withdrawn: bigint) => {
    let liquidity = -((storedOwed * price) / TERMS.baseScale)
    for (const [place, { amount, scale, borrowFactorWad, ...each }] of collaterals.entries()) {
      const left = place === index ? amount - withdrawn : amount
      liquidity += (((left * (each.price ?? 0n)) / scale) * borrowFactorWad) / WAD
    }
    return liquidity >= 0n
  }

  test('pay exactly as much as leaves the account covered, and not one unit more', () => {
    const random = mulberry(53)
    let limited = 0
    for (let round = 0; round < 300; round++) {
      const account = createAccount(BigInt(1 + Math.floor(random() * 20_000_000)) * 10n ** 12n)
      const index = round % 2
      const collateral = account.collaterals[index]
      if (collateral === undefined) throw new Error('Expected a collateral')
      const { amount = 0n, limitedBy } = computeWithdrawableCollateral(account, collateral) ?? {
        amount: collateral.amount,
      }
      if (!isCollateralized(account, index, 0n)) {
        expect([amount, limitedBy]).toEqual([0n, 'health'])
        continue
      }
      expect(isCollateralized(account, index, amount)).toBe(true)
      if (limitedBy === undefined) continue
      limited++
      expect([isCollateralized(account, index, amount + 1n), limitedBy]).toEqual([false, 'health'])
    }
    expect(limited).toBeGreaterThan(50)
  })

  test('count the debt by the stored index, need no feed without a debt, and none beyond a covered one', () => {
    const account = createAccount(WAD)
    const [first, second] = account.collaterals
    if (first === undefined || second === undefined) throw new Error('Expected two collaterals')
    expect(computeWithdrawableCollateral({ ...account, storedOwed: 0n }, first)).toBeUndefined()
    const silent = { ...second, price: undefined }
    const withSilent = { ...account, collaterals: [first, silent] }
    // The first alone covers the debt, so that the second is not looked at until the first is nearly gone.
    expect(computeWithdrawableCollateral(withSilent, silent)).toBeUndefined()
    const { amount, limitedBy } = computeWithdrawableCollateral(withSilent, first) ?? {}
    expect([amount, limitedBy]).toEqual([10n * WAD - (WAD * 10n) / 8n, 'price'])
    const blind = { ...account, price: undefined }
    expect(computeWithdrawableCollateral(blind, first)).toEqual({ amount: 0n, limitedBy: 'price' })
    expect(computeWithdrawableCollateral({ ...blind, isBorrower: false, owed: 0n }, first)).toBeUndefined()
    expect(computeWithdrawableCollateral({ ...account, isWithdrawPaused: true }, first)).toEqual({
      amount: 0n,
      limitedBy: 'paused',
    })
  })
})

test('a market that prices in its base token is worth dollars by the sources of all tokens', () => {
  // 10 + 5·2 base tokens of collateral at 85 %, 8.5 owed: a health factor of 2.
  const account = createAccount((85n * WAD) / 10n)
  expect(computeHealthFactor(account)).toEqual(rational(17n * 10n ** 8n, (85n * 10n ** 8n) / 10n))
  const lending = toLending(account)
  const { collateral, debt, perUsd, liquidationLimit, borrowLimit } = lending.totals
  expect([collateral, debt, liquidationLimit, borrowLimit].map((each) => formatUsd(rational(each, perUsd)))).toEqual([
    '60000.000000',
    '25500.000000',
    '51000.000000',
    '48000.000000',
  ])
  // To the target 1.5 the debt may be 34,000; to the limit of borrowing 48,000.
  expect(formatUsd(safeBorrow(account, lending, rational(3n, 2n)))).toBe('8500.000000')
  expect(formatUsd(safeBorrow(account, lending, rational(1n, 1n)))).toBe('22500.000000')
  expect(formatUsd(safeBorrow({ ...account, idle: WAD }, lending, rational(1n, 1n)))).toBe('3000.000000')
  // A quarter may go to the target 1.5; to 1 it would be a half, but the limit of borrowing holds 85/160 of it.
  expect(formatUsd(safeWithdraw(account, lending, rational(3n, 2n)))).toBe('15000.000000')
  expect(formatUsd(safeWithdraw(account, lending, rational(1n, 1n)))).toBe('28125.000000')
  expect(formatUsd(safeWithdraw({ ...account, isWithdrawPaused: true }, lending, rational(1n, 1n)))).toBe('0.000000')
})

test('interest alone makes an account due, unless absorbing is paused', () => {
  const account = createAccount(17n * WAD + 10n ** 11n, { storedOwed: 17n * WAD })
  expect(findLiquidationReasons(account)).toEqual(['health_factor'])
  expect(findLiquidationReasons({ ...account, owed: 17n * WAD })).toEqual([])
  expect(findLiquidationReasons({ ...account, isAbsorbPaused: true })).toEqual([])
})

test('without a price it says which token has none, and a debt takes the price of a collateral', () => {
  const account = createAccount(WAD)
  const unpriced = { ...account, base: createToken('base', 18) }
  expect(valueAccount(unpriced)).toContain(account.base.address)
  expect(computeMarketPrice(account)).toMatchObject({ source: 'market_oracle' })
  const { units, scale } = computeMarketPrice(account) ?? { units: 0n, scale: 0 }
  expect(units).toBe(3_000n * 10n ** BigInt(scale))
  const nameless = account.collaterals.map((each) => ({ ...each, token: createToken('none', 18) }))
  expect(computeMarketPrice({ ...account, collaterals: nameless })).toBeUndefined()
})

test('a supplier without collateral needs no feed of the market, and only the base token earns', () => {
  const account = createAccount(0n, { supplied: 2n * WAD, collaterals: [], price: undefined })
  const { totals, supplies } = toLending(account)
  expect(formatUsd(rational(totals.supplied, totals.perUsd))).toBe('6000.000000')
  expect(supplies.map(({ apyRay }) => apyRay)).toEqual([toApyRay(TERMS.supplyRateWad)])
  // 10^9 of 10^18 a second, compounded at each: e^0.031536 − 1.
  expect(Number(toApyRay(10n ** 9n)) / 1e27).toBeCloseTo(Math.expm1(0.031536), 9)
})
