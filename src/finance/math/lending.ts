import { compareRational, ONE, type Rational, rational, ZERO } from '../../lib/number/rational.ts'
import { RAY } from './rate.ts'

/** Days of a year, for daily interest. */
const DAYS_PER_YEAR = 365n

/**
 * Totals of a lending position. Every sum is in the same unit of money, the protocol's own;
 * `perUsd` of them make one US dollar.
 */
export interface LendingTotals {
  readonly perUsd: bigint
  /** Everything supplied, whether or not it backs the debt. */
  readonly supplied: bigint
  /** The part of `supplied` that backs the debt. */
  readonly collateral: bigint
  /** Everything owed. */
  readonly debt: bigint
  /** What is owed as the protocol's risk rules count it (borrow factors); equal to `debt` without them. */
  readonly riskDebt: bigint
  /** Σ collateral × liquidation threshold. */
  readonly liquidationLimit: bigint
  /** Σ collateral × maximum loan-to-value, with the market's caps. */
  readonly borrowLimit: bigint
}

/** One asset of a position and its yearly yield or cost. */
export interface YieldLeg {
  /** In the unit of `LendingTotals`. */
  readonly value: bigint
  readonly apyRay: bigint
}

export interface YieldLegs {
  readonly supplies: readonly YieldLeg[]
  readonly borrows: readonly YieldLeg[]
}

/** A position in money and yields. */
export interface LendingPosition extends YieldLegs {
  readonly totals: LendingTotals
}

/** A ratio, or `max` if it is infinite, which answers show as `MAX`. */
export type BoundlessRatio = Rational | 'max'

/** Interest of a position, US dollars. */
interface Interest {
  readonly dailySupplyUsd: Rational
  readonly dailyBorrowUsd: Rational
  readonly dailyNetUsd: Rational
}

/**
 * Liquidation limit (Σ collateral × its liquidation threshold) ÷ risk debt (Σ debt × its borrow factor, which is 1 but
 * on Kamino); `max` without debt. Below 1 the position can be liquidated.
 *
 * @figure health_factor, healthFactor
 * @source Aave V3 `GenericLogic.calculateUserAccountData`; klend `refresh_obligation`
 * @proof test/unit/finance/math/lending_test.ts, test/unit/family/aave_v3/math_test.ts, test/unit/family/kamino/math_test.ts
 */
export function healthFactor({ liquidationLimit, riskDebt }: LendingTotals): BoundlessRatio {
  return riskDebt === 0n ? 'max' : rational(liquidationLimit, riskDebt)
}

/**
 * Risk debt ÷ collateral; 0 without collateral.
 *
 * @figure current_ltv_percentage, currentLtvPercentage, currentLtv
 * @source Aave V3 `GenericLogic`; klend `Obligation.loan_to_value`
 * @proof test/unit/finance/math/lending_test.ts, test/unit/family/kamino/math_test.ts
 */
export function currentLtv({ riskDebt, collateral }: LendingTotals): Rational {
  return collateral === 0n ? ZERO : rational(riskDebt, collateral)
}

/**
 * Average loan-to-value at which liquidation starts, weighted by collateral; 0 without collateral.
 *
 * @figure liquidationThreshold
 * @source klend `Obligation.unhealthy_loan_to_value`
 * @proof test/unit/finance/math/lending_test.ts, test/unit/family/kamino/math_test.ts
 */
export function liquidationThreshold({ liquidationLimit, collateral }: LendingTotals): Rational {
  return collateral === 0n ? ZERO : rational(liquidationLimit, collateral)
}

/**
 * Risk debt ÷ borrowing limit (Σ collateral × its maximum loan-to-value): above 1 if the limit is exceeded, `max` if it
 * is 0; 0 without debt.
 *
 * @figure borrowUtilizationRate, borrowUtilization
 * @source definition
 * @proof test/unit/finance/math/lending_test.ts
 */
export function borrowUtilization({ riskDebt, borrowLimit }: LendingTotals): BoundlessRatio {
  if (riskDebt === 0n) return ZERO
  return borrowLimit === 0n ? 'max' : rational(riskDebt, borrowLimit)
}

/**
 * Supplied ÷ (supplied − debt): 1 without debt, `max` if the debt is as much or more.
 *
 * @figure positionLeverage, position_leverage
 * @source definition
 * @proof test/unit/finance/math/lending_test.ts
 */
export function positionLeverage({ supplied, debt }: LendingTotals): BoundlessRatio {
  if (debt === 0n) return ONE
  return supplied > debt ? rational(supplied, supplied - debt) : 'max'
}

/**
 * Average of the legs' yields by value; 0 without value.
 *
 * @figure weightedSupplyAPY, weightedBorrowAPY, weighted_supply_apy, weighted_borrow_apy
 * @source definition
 * @proof test/unit/finance/math/lending_test.ts
 */
export function weightedApy(legs: readonly YieldLeg[]): Rational {
  const value = legs.reduce((sum, leg) => sum + leg.value, 0n)
  return value === 0n ? ZERO : rational(yearlyInterest(legs), value * RAY)
}

/**
 * (Interest earned − interest owed) in a year ÷ net worth; 0 if net worth is zero or less.
 *
 * @figure netAPY, net_apy
 * @source definition
 * @proof test/unit/finance/math/lending_test.ts
 */
export function netApy(totals: LendingTotals, legs: YieldLegs): Rational {
  const netWorth = totals.supplied - totals.debt
  if (netWorth <= 0n) return ZERO
  return rational(yearlyInterest(legs.supplies) - yearlyInterest(legs.borrows), netWorth * RAY)
}

/**
 * Interest of one day, a 365th of the yearly one, so that 365 × net daily = net APY × net worth.
 *
 * @figure dailySupplyInterestUSD, dailyBorrowInterestUSD, netDailyInterestUSD, daily_supply_interest_usd, daily_borrow_interest_usd, net_daily_interest_usd
 * @source definition
 * @proof test/unit/finance/math/lending_test.ts
 */
export function dailyInterest({ perUsd }: LendingTotals, legs: YieldLegs): Interest {
  const scale = RAY * perUsd * DAYS_PER_YEAR
  const supply = yearlyInterest(legs.supplies)
  const borrow = yearlyInterest(legs.borrows)
  return {
    dailySupplyUsd: rational(supply, scale),
    dailyBorrowUsd: rational(borrow, scale),
    dailyNetUsd: rational(supply - borrow, scale),
  }
}

/**
 * Net interest to come at today's rates, US dollars: over a day, a week of 7, a month of 30 and a year of 365 days.
 *
 * @figure daily, weekly, monthly, yearly
 * @source definition
 * @proof test/unit/finance/math/lending_test.ts
 */
export function projection({ dailyNetUsd }: Interest) {
  const over = (days: bigint) => rational(dailyNetUsd.numerator * days, dailyNetUsd.denominator)
  return { dailyUsd: over(1n), weeklyUsd: over(7n), monthlyUsd: over(30n), yearlyUsd: over(DAYS_PER_YEAR) }
}

/**
 * US dollars that can still be borrowed (at borrow factor 1) before the health factor falls to `target` or the
 * borrowing limit is reached, whichever comes first; never below 0.
 * Each family applies its own rules besides.
 */
export function safeBorrowUsd(totals: LendingTotals, target: Rational): Rational {
  const { liquidationLimit, borrowLimit, riskDebt, perUsd } = totals
  const byHealth = rational(liquidationLimit * target.denominator, target.numerator)
  const limit = compareRational(byHealth, rational(borrowLimit, 1n)) < 0 ? byHealth : rational(borrowLimit, 1n)
  const room = limit.numerator - riskDebt * limit.denominator
  return room <= 0n ? ZERO : rational(room, limit.denominator * perUsd)
}

/**
 * US dollars of collateral that can be taken out, from all of it in proportion, before the health factor falls to
 * `target`: collateral × (1 − target ÷ health factor), never below 0; all of it without debt.
 * Each family applies its own rules besides.
 */
export function safeWithdrawUsd(totals: LendingTotals, target: Rational): Rational {
  const { collateral, liquidationLimit, riskDebt, perUsd } = totals
  if (riskDebt === 0n) return rational(collateral, perUsd)
  if (liquidationLimit === 0n) return ZERO
  const scale = liquidationLimit * target.denominator
  const share = scale - target.numerator * riskDebt
  return share <= 0n ? ZERO : rational(collateral * share, scale * perUsd)
}

function yearlyInterest(legs: readonly YieldLeg[]): bigint {
  return legs.reduce((sum, { value, apyRay }) => sum + value * apyRay, 0n)
}
