import * as v from 'valibot'
import { formatExact } from '../../../lib/number/decimal.ts'
import { minBigint } from '../../../lib/number/fixed_point.ts'
import { nameUnpaidInterest, presentYieldFigures, unpaidInterest, yieldFigures } from '../../lending/yield.ts'
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
  const { supplies, borrows } = position
  const paidSupplies = supplies.map((supply) => pay(supply, isTrusted ? supply.amountSf : computePayableSf(supply)))
  const unpaid = paidSupplies.filter(({ unpaidSf }) => unpaidSf > 0n)
  return {
    ...presentYieldFigures(unpaid.length === 0 ? position : { ...position, paidSupplies }),
    slot_ms: [...supplies, ...borrows].find((each) => each.slotMs !== undefined)?.slotMs ?? null,
    incomplete: unpaid.map(({ reserve: { symbol, decimals }, unpaidSf }) =>
      nameUnpaidInterest(symbol, formatExact(unpaidSf / SF, decimals)),
    ),
  }
}

/** The part of a supply that is paid, up to `paidSf`, and what of it is not. */
function pay(supply: Supply, paidSf: bigint) {
  const unpaidSf = supply.amountSf - paidSf
  const value = unpaidSf === 0n ? supply.value : (supply.value * paidSf) / supply.amountSf
  return { ...supply, value, unpaidSf }
}

function computePayableSf({ amountSf, reserve }: Supply): bigint {
  return minBigint(amountSf, reserve.availableAmount * SF)
}
