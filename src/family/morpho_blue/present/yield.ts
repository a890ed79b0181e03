import * as v from 'valibot'
import { formatExact } from '../../../lib/number/decimal.ts'
import { withWords } from '../../../lib/text/text_format.ts'
import { walletPlace } from '../../lending/position.ts'
import {
  nameUnpaidInterest,
  presentYieldFigures,
  unpaidInterest,
  type YieldPosition,
  yieldFigures,
} from '../../lending/yield.ts'
import { computePayable } from '../math/rule.ts'
import type { Position } from '../read/position.ts'
import { marketIdText } from './schema.ts'

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({
  data: v.strictObject({
    ...walletPlace,
    market_id: withWords('Id of the market', marketIdText),
    ...yieldFigures,
    incomplete: unpaidInterest,
  }),
})

/**
 * Presents the yield of a position. Interest on what was lent is projected as far as the market could pay that out: any
 * account can make a market, lend to itself at any rate, and name the sum of a year.
 *
 * @figure morpho-blue/amount
 * @source what was lent above `totalSupplyAssets − totalBorrowAssets` of Morpho.sol
 * @proof test/unit/family/morpho_blue/yield_test.ts
 */
export function presentYield(position: Position) {
  const { supplied, loan } = position
  const payable = computePayable(position)
  if (payable === supplied) return { ...presentYieldFigures(position), incomplete: [] }
  const unpaid = loan.decimals === undefined ? null : formatExact(supplied - payable, loan.decimals)
  return {
    ...presentYieldFigures(toYieldPosition(position)),
    incomplete: [nameUnpaidInterest('what is lent', unpaid)],
  }
}

/** The position with its supplies as far as the market could pay them out. */
export function toYieldPosition(position: Position): YieldPosition {
  const { totals, supplies, borrows, supplied } = position
  const payable = computePayable(position)
  const [lent, ...others] = supplies
  if (payable === supplied || lent === undefined) return position
  return { totals, supplies, borrows, paidSupplies: [{ ...lent, value: (lent.value * payable) / supplied }, ...others] }
}
