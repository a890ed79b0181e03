import * as v from 'valibot'
import type { Address, Hex } from 'viem'
import {
  type BoundlessRatio,
  dailyInterest,
  netApy,
  positionLeverage,
  projection,
  weightedApy,
} from '../../finance/lending.ts'
import { formatRational, type Rational } from '../../lib/rational.ts'
import type { Valued } from './math.ts'

/** Which position an answer is about. */
export interface Named {
  readonly chainId: number
  /** Checksummed. */
  readonly wallet: Address
  readonly marketId: Hex
}

const USD_DIGITS = 6
const RATIO_DIGITS = 8

const decimal = v.pipe(v.string(), v.regex(/^-?\d+(\.\d+)?$/))
const decimalOrMax = v.pipe(v.string(), v.regex(/^(\d+(\.\d+)?|MAX)$/))

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({
  data: v.strictObject({
    chain_id: v.pipe(v.number(), v.integer()),
    wallet: v.pipe(v.string(), v.regex(/^0x[0-9a-fA-F]{40}$/)),
    market_id: v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/)),
    daily_supply_interest_usd: decimal,
    daily_borrow_interest_usd: decimal,
    net_daily_interest_usd: decimal,
    net_apy: decimal,
    position_leverage: decimalOrMax,
    weighted_supply_apy: v.pipe(decimal, v.description('Over all that is supplied; collateral earns nothing')),
    weighted_borrow_apy: decimal,
    projected_earnings: v.strictObject({ daily: decimal, weekly: decimal, monthly: decimal, yearly: decimal }),
  }),
})

/** Yield figures of the specification, 2.7. */
export function presentYield(
  { chainId, wallet, marketId }: Named,
  { totals, supplies, borrows }: Valued,
): v.InferOutput<typeof yieldOutput>['data'] {
  const interest = dailyInterest(totals, { supplies, borrows })
  const ahead = projection(interest)
  return {
    chain_id: chainId,
    wallet,
    market_id: marketId,
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

function usd(value: Rational): string {
  return formatRational(value, { digits: USD_DIGITS })
}

function ratio(value: BoundlessRatio): string {
  return value === 'max' ? 'MAX' : formatRational(value, { digits: RATIO_DIGITS })
}
