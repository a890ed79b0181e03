import * as v from 'valibot'
import { checksumAddress } from 'viem'
import { evmAddress, withFull } from '../../finance/schema.ts'
import {
  amounts,
  buildOutputs,
  integerText,
  LISTED_PNL_STATUS,
  pnlFigures,
  positionToken,
  rangeFigures,
  unsignedText,
  usdFigures,
  usdOrNullText,
} from '../liquidity/schema.ts'
import { isOwed } from './math/fees.ts'
import type { Position } from './read/position.ts'

const PNL_STATUS_WORDS = {
  list: LISTED_PNL_STATUS,
  position: 'ready, or unpriced: a price is missing; the answer is 503 until its history is read',
} as const

/** Fields that separate fees from withdrawn principal. */
const SPLIT_FIELDS = ['uncollected_fees', 'withdrawn_principal', 'usd.uncollected_fees', 'usd.withdrawn_principal']

/** Success bodies, without `request_id`. */
export const OUTPUTS = buildOutputs({
  pool: { id: evmAddress, tick: integerText, feeTier: unsignedText },
  token0: positionToken,
  code: v.string(),
  getFigures: (answer) => ({
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
    usd: usdFigures(
      { amounts: usdOrNullText, uncollected_fees: usdOrNullText, withdrawn_principal: usdOrNullText },
      'US dollars; a value is null where one of the tokens has no price, or its amounts are; total is all of it together',
    ),
    ...pnlFigures(PNL_STATUS_WORDS[answer]),
  }),
})

/** Presents the pool of a position. */
export function presentPool({ pool }: Position) {
  return { id: checksumAddress(pool.address), tick: pool.tick.toString(), feeTier: pool.fee.toString() }
}

/** Lists the figures that only the flows of a position tell. */
export function listUncoveredFields(position: Position): readonly string[] {
  return isOwed(position) ? SPLIT_FIELDS : []
}
