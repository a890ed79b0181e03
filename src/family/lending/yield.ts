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
import { named, withWords } from '../../lib/text/text_format.ts'
import { LEVERAGE_WORDS } from './calculations.ts'

/** Schemas of the yield figures; the fields that name the position come before them. */
export const yieldFigures = {
  daily_supply_interest_usd: withWords('What supplies earn in a day at the rates of this block', usdFigure),
  daily_borrow_interest_usd: withWords('What debts cost in a day at the rates of this block', usdFigure),
  net_daily_interest_usd: withWords('daily_supply_interest_usd less daily_borrow_interest_usd', usdFigure),
  net_apy: apyFigure,
  position_leverage: withWords(LEVERAGE_WORDS, ratioOrMaxFigure),
  weighted_supply_apy: v.pipe(
    apyFigure,
    v.description('Interest alone, over all that is supplied, also collateral that earns nothing'),
  ),
  weighted_borrow_apy: apyFigure,
  projected_earnings: named(
    'ProjectedEarnings',
    'Interest of the position if rates and amounts stay, less what it costs',
    v.strictObject({
      daily: withWords('In a day', usdFigure),
      weekly: withWords('In 7 days', usdFigure),
      monthly: withWords('In 30 days', usdFigure),
      yearly: withWords('In 365 days', usdFigure),
    }),
  ),
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
