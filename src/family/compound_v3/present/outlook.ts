import { outlookLending } from '../../lending/outlook.ts'
import type { YieldPosition } from '../../lending/yield.ts'
import type { PositionOutlook } from '../../outlook.ts'
import { computeHealthFactor, findLiquidationReasons, valueAccount } from '../math/account.ts'
import { computeWithdrawableBase } from '../math/withdrawal.ts'
import type { Position } from '../read/position.ts'

/** Says what is to be seen to in a market, and what it earns. */
export function outlookMarket(position: Position, timestampSec: bigint): PositionOutlook {
  const { market } = position
  return outlookLending({
    position: { family: 'compound-v3', market_id: market },
    code: 'compound_v3',
    title: `Compound V3 market ${market}`,
    healthFactor: computeHealthFactor(position),
    liquidatableBecause: findLiquidationReasons(position),
    dueAtSec: undefined,
    nowSec: timestampSec,
    value: toYieldPosition(position),
  })
}

/** The position with the base token as far as the market could pay it out, or why it has no value. */
function toYieldPosition(position: Position): YieldPosition | string {
  const lending = valueAccount(position)
  if (typeof lending === 'string') return `The position has no value because ${lending}`
  const [lent, ...others] = lending.supplies
  const { amount } = computeWithdrawableBase(position) ?? {}
  if (amount === undefined || lent === undefined) return lending
  const paid = { ...lent, value: (lent.value * amount) / position.supplied }
  return { ...lending, paidSupplies: [paid, ...others] }
}
