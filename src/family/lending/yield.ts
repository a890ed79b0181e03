import * as v from 'valibot'
import { apyFigure, formatRatio, formatUsd, incompleteList, ratioOrMaxFigure, usdFigure } from '../../finance/figure.ts'
import {
  dailyInterest,
  type LendingPosition,
  netApy,
  positionLeverage,
  projection,
  weightedApy,
  type YieldLeg,
} from '../../finance/math/lending.ts'
import { memoize } from '../../lib/memoize.ts'

/** Schemas of the yield figures; the fields that name the position come before them. */
export const yieldFigures = {
  daily_supply_interest_usd: usdFigure,
  daily_borrow_interest_usd: usdFigure,
  net_daily_interest_usd: usdFigure,
  net_apy: apyFigure,
  position_leverage: ratioOrMaxFigure,
  weighted_supply_apy: v.pipe(
    apyFigure,
    v.description('Interest alone, over all that is supplied, also collateral that earns nothing'),
  ),
  weighted_borrow_apy: apyFigure,
  projected_earnings: v.strictObject({ daily: usdFigure, weekly: usdFigure, monthly: usdFigure, yearly: usdFigure }),
}

/** Schema of what `projected_earnings` leaves out. */
export const unpaidInterest = incompleteList(
  'What projected_earnings leaves out: interest on lent tokens that the market cannot pay out now',
)

/** Names interest that is not projected; `amount`: the lent tokens that cannot be paid out, null without decimals. */
export function nameUnpaidInterest(what: string, amount: string | null) {
  return { what: `interest on ${what}`, amount, why: 'The market cannot pay it out now' }
}

/** A position, and its supplies as far as they can be paid out, if that is not all of them. */
export interface YieldPosition extends LendingPosition {
  readonly paidSupplies?: readonly YieldLeg[]
}

/**
 * Presents the yield figures of a position; memoized, because many answers share a read. Nothing is projected from
 * interest on what no withdrawal could take out.
 */
export const presentYieldFigures = memoize(({ totals, paidSupplies, ...legs }: YieldPosition) => {
  const interest = dailyInterest(totals, legs)
  const ahead = projection(paidSupplies ? dailyInterest(totals, { ...legs, supplies: paidSupplies }) : interest)
  return {
    daily_supply_interest_usd: formatUsd(interest.dailySupplyUsd),
    daily_borrow_interest_usd: formatUsd(interest.dailyBorrowUsd),
    net_daily_interest_usd: formatUsd(interest.dailyNetUsd),
    net_apy: formatRatio(netApy(totals, legs)),
    position_leverage: formatRatio(positionLeverage(totals)),
    weighted_supply_apy: formatRatio(weightedApy(legs.supplies)),
    weighted_borrow_apy: formatRatio(weightedApy(legs.borrows)),
    projected_earnings: {
      daily: formatUsd(ahead.dailyUsd),
      weekly: formatUsd(ahead.weeklyUsd),
      monthly: formatUsd(ahead.monthlyUsd),
      yearly: formatUsd(ahead.yearlyUsd),
    },
  }
})
