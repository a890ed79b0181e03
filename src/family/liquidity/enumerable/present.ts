import * as v from 'valibot'
import { evmAddress, withFull } from '../../../finance/figure.ts'
import { withWords } from '../../../lib/text/text_format.ts'
import {
  amounts,
  buildOutputs,
  custodian,
  LISTED_PNL_STATUS,
  pnlFigures,
  positionToken,
  REWARDS,
  rangeFigures,
  reward,
  usdFigures,
  usdOrNullText,
  WORTH,
} from '../schema.ts'
import type { EnumerableExchange } from './exchange.ts'

const PNL_STATUS_WORDS = {
  list: LISTED_PNL_STATUS,
  position: 'ready, or unpriced: a price is missing; the answer is 503 until its history is read',
} as const

const ownerOrNull = v.nullable(evmAddress)

/** Fields that separate fees from withdrawn principal. */
export const SPLIT_FIELDS = [
  'uncollected_fees',
  'withdrawn_principal',
  'usd.uncollected_fees',
  'usd.withdrawn_principal',
] as const

/** Builds the schemas of success bodies of an exchange from the fields of a pool. */
export function buildEnumerableOutputs(
  {
    words,
    hasCustodians,
    computeReward,
    isOwnerKnown,
  }: Pick<EnumerableExchange, 'words' | 'hasCustodians' | 'computeReward' | 'isOwnerKnown'>,
  pool: v.ObjectEntries,
) {
  const worth = withWords(WORTH, usdOrNullText)
  const rewards: v.ObjectEntries = computeReward ? { rewards: withFull(v.array(reward), REWARDS) } : {}
  return buildOutputs({
    name: words.exchange.replaceAll(/\W/g, ''),
    pool,
    ...(isOwnerKnown && { owner: ownerOrNull }),
    state: hasCustodians ? { custodian } : {},
    tokens: [positionToken, positionToken],
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
      ...rewards,
      ...rangeFigures,
      usd: usdFigures(
        { amounts: worth, uncollected_fees: worth, withdrawn_principal: worth },
        'US dollars; a value is null where one of the tokens has no price, or its amounts are; total is all of it together',
      ),
      ...pnlFigures(PNL_STATUS_WORDS[answer]),
    }),
  })
}
