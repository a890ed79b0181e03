import * as v from 'valibot'
import {
  nameUnpaidInterest,
  presentYieldFigures,
  unpaidInterest,
  yieldFigures,
} from '../../../finance/lending/yield.ts'
import { formatExact } from '../../../lib/number/decimal.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import { SF } from '../math/accrual.ts'
import type { ObligationPosition, Supply } from '../math/position.ts'
import { idFields } from './obligation.ts'

/** Schema of the duration of a slot that an APY rests on. */
export const slot_ms = v.pipe(
  v.nullable(v.pipe(v.number(), v.integer())),
  v.description('Milliseconds of a slot that the APY beside it rests on; null if its reserves count seconds'),
)

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({
  data: v.strictObject({ ...idFields.entries, ...yieldFigures, slot_ms, incomplete: unpaidInterest }),
})

/**
 * Presents the yield of an obligation. In a market of no table, interest on what was lent is projected as far as the
 * reserve could pay that out: any account can make one, lend to itself at any rate, and name the sum of a year.
 */
export function presentYield(position: ObligationPosition, { isTrusted }: { readonly isTrusted: boolean }) {
  const unpaid = isTrusted ? [] : position.supplies.filter((supply) => computePaidSf(supply) < supply.amountSf)
  const slotMs = [...position.supplies, ...position.borrows].find((each) => each.slotMs !== undefined)?.slotMs ?? null
  if (unpaid.length === 0) return { ...presentYieldFigures(position), slot_ms: slotMs, incomplete: [] }
  const paidSupplies = position.supplies.map((supply) => ({
    ...supply,
    value: supply.amountSf === 0n ? supply.value : (supply.value * computePaidSf(supply)) / supply.amountSf,
  }))
  return {
    ...presentYieldFigures({ ...position, paidSupplies }),
    slot_ms: slotMs,
    incomplete: unpaid.map((supply) =>
      nameUnpaidInterest(
        supply.reserve.symbol,
        formatExact((supply.amountSf - computePaidSf(supply)) / SF, supply.reserve.decimals),
      ),
    ),
  }
}

function computePaidSf({ amountSf, reserve }: Supply): bigint {
  return minBigint(amountSf, reserve.availableAmount * SF)
}
