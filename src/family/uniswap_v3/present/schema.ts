import * as v from 'valibot'
import { evmAddress, withFull } from '../../../finance/schema.ts'
import { pagination } from '../../../lib/text/schema.ts'
import { PNL_STATUSES } from '../../liquidity/position_history/pnl.ts'
import {
  amounts,
  integerText,
  managedCounts,
  managedPosition,
  pnl,
  positionToken,
  rangeFigures,
  tokenPrices,
  unsignedText,
  usdOrNullText,
} from '../../liquidity/schema.ts'

const listPool = { id: evmAddress, tick: integerText, feeTier: unsignedText }

/** Fields that `full=true` adds to a position. */
const figures = {
  amounts: withFull(amounts, 'what withdrawing all liquidity would pay, in raw units and whole tokens'),
  uncollected_fees: withFull(
    v.nullable(amounts),
    'what collecting would pay, without withdrawn_principal; null if its history is needed to tell them apart and is not read',
  ),
  withdrawn_principal: withFull(
    v.nullable(amounts),
    'principal that was withdrawn and not collected; null as uncollected_fees is',
  ),
  ...rangeFigures,
  usd: withFull(
    v.strictObject({
      ...tokenPrices,
      amounts: usdOrNullText,
      uncollected_fees: usdOrNullText,
      withdrawn_principal: usdOrNullText,
      total: usdOrNullText,
    }),
    'US dollars; a value is null where one of the tokens has no price, or its amounts are; total is all of it together',
  ),
}

function position<const Pool extends v.ObjectEntries>(pool: Pool, statusDescription: string) {
  return managedPosition({
    pool,
    token0: positionToken,
    code: v.string(),
    figures: {
      ...figures,
      pnl: withFull(v.nullable(pnl), 'as …/pnl; null unless pnl_status is ready'),
      pnl_status: withFull(v.picklist(PNL_STATUSES), statusDescription),
    },
  })
}

/** Success body of the list, without `request_id`. */
export const listOutput = v.strictObject({
  data: v.array(
    position(
      listPool,
      'pending: its history was not read within 2 seconds, ask again; unpriced: a price is missing; failed: …/pnl says why',
    ),
  ),
  pagination,
  counts: managedCounts,
})

/** Success body of one position, without `request_id`. */
export const positionOutput = v.strictObject({
  data: position(
    { ...listPool, sqrtPrice: unsignedText },
    'ready, or unpriced: a price is missing; the answer is 503 until its history is read',
  ),
})
