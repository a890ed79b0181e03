import * as v from 'valibot'
import {
  type BoundlessRatio,
  borrowUtilization,
  currentLtv,
  dailyInterest,
  healthFactor,
  liquidationThreshold,
  netApy,
  positionLeverage,
  projection,
  safeBorrowUsd,
  safeWithdrawUsd,
  weightedApy,
} from '../../finance/lending.ts'
import type { Rounding } from '../../lib/decimal.ts'
import { formatRational, type Rational } from '../../lib/rational.ts'
import type { Position } from './math.ts'

/** Which obligation an answer is about. */
export interface Named {
  readonly chainId: number
  readonly wallet: string
  readonly marketAddress: string
  readonly obligationAddress: string
}

const USD_DIGITS = 6
const RATIO_DIGITS = 8
const PERCENTAGE_DIGITS = 4
const HEALTH_FACTOR_DIGITS = 4

const decimal = v.pipe(v.string(), v.regex(/^-?\d+(\.\d+)?$/))
const decimalOrMax = v.pipe(v.string(), v.regex(/^(\d+(\.\d+)?|MAX)$/))

const named = {
  chain_id: v.pipe(v.number(), v.integer()),
  wallet: v.string(),
  market_address: v.string(),
  obligation_address: v.string(),
}

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({
  data: v.strictObject({
    ...named,
    daily_supply_interest_usd: decimal,
    daily_borrow_interest_usd: decimal,
    net_daily_interest_usd: decimal,
    net_apy: decimal,
    position_leverage: decimalOrMax,
    weighted_supply_apy: decimal,
    weighted_borrow_apy: decimal,
    projected_earnings: v.strictObject({ daily: decimal, weekly: decimal, monthly: decimal, yearly: decimal }),
  }),
})

/** Body of a risk answer, without `request_id`. */
export const riskOutput = v.strictObject({
  data: v.strictObject({
    ...named,
    health_factor: decimalOrMax,
    target_health_factor: decimal,
    current_ltv_percentage: decimal,
    safe_borrow_amount_usd: decimal,
    safe_withdraw_amount_usd: decimal,
    risk_metrics: v.strictObject({
      maxBorrowCapacityUSD: decimal,
      borrowUtilization: decimalOrMax,
      liquidationThreshold: decimal,
      currentLtv: decimal,
    }),
  }),
})

/** Yield figures of the specification, 2.7. */
export function presentYield(names: Named, position: Position): v.InferOutput<typeof yieldOutput>['data'] {
  const { totals, supplies, borrows } = position
  const interest = dailyInterest(totals, { supplies, borrows })
  const ahead = projection(interest)
  return {
    ...presentNames(names),
    daily_supply_interest_usd: usd(interest.dailySupplyUsd),
    daily_borrow_interest_usd: usd(interest.dailyBorrowUsd),
    net_daily_interest_usd: usd(interest.dailyNetUsd),
    net_apy: ratio(netApy(totals, { supplies, borrows })),
    position_leverage: ratio(positionLeverage(totals)),
    weighted_supply_apy: ratio(weightedApy(supplies)),
    weighted_borrow_apy: ratio(weightedApy(borrows)),
    projected_earnings: {
      daily: usd(ahead.dailyUsd),
      weekly: usd(ahead.weeklyUsd),
      monthly: usd(ahead.monthlyUsd),
      yearly: usd(ahead.yearlyUsd),
    },
  }
}

/** Risk figures of the specification, 2.8; `target` and its digits as the caller gave them. */
export function presentRisk(
  names: Named,
  { totals }: Position,
  { target, targetText }: { readonly target: Rational; readonly targetText: string },
): v.InferOutput<typeof riskOutput>['data'] {
  const ltv = currentLtv(totals)
  return {
    ...presentNames(names),
    health_factor: bounded(healthFactor(totals), { digits: HEALTH_FACTOR_DIGITS, rounding: 'toward_zero' }),
    target_health_factor: targetText,
    current_ltv_percentage: formatRational(
      { numerator: ltv.numerator * 100n, denominator: ltv.denominator },
      { digits: PERCENTAGE_DIGITS },
    ),
    safe_borrow_amount_usd: usd(safeBorrowUsd(totals, target)),
    safe_withdraw_amount_usd: usd(safeWithdrawUsd(totals, target)),
    risk_metrics: {
      maxBorrowCapacityUSD: usd({ numerator: totals.borrowLimit, denominator: totals.perUsd }),
      borrowUtilization: ratio(borrowUtilization(totals)),
      liquidationThreshold: ratio(liquidationThreshold(totals)),
      currentLtv: ratio(ltv),
    },
  }
}

function presentNames({ chainId, wallet, marketAddress, obligationAddress }: Named) {
  return { chain_id: chainId, wallet, market_address: marketAddress, obligation_address: obligationAddress }
}

function usd(value: Rational): string {
  return formatRational(value, { digits: USD_DIGITS })
}

function ratio(value: BoundlessRatio): string {
  return bounded(value, { digits: RATIO_DIGITS })
}

function bounded(value: BoundlessRatio, options: { readonly digits: number; readonly rounding?: Rounding }): string {
  return value === 'max' ? 'MAX' : formatRational(value, options)
}
