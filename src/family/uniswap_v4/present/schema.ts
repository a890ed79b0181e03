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
import { HOOK_PERMISSIONS } from '../math/hooks.ts'

const hooks = v.strictObject({
  address: evmAddress,
  permissions: v.pipe(
    v.array(v.picklist(HOOK_PERMISSIONS)),
    v.description("What the low 14 bits of its address let it do, from bit 13 down; names as in Uniswap's Hooks.sol"),
  ),
})

const listPool = {
  id: v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/), v.description('Hash of what identifies the pool, 32 bytes')),
  tick: integerText,
  feeTier: v.pipe(unsignedText, v.description('The fee in force, hundredths of a bip')),
  isDynamicFee: v.pipe(v.boolean(), v.description('Whether the hook may change the fee')),
  protocolFee: v.pipe(
    unsignedText,
    v.description("As the pool keeps it: the protocol's share of swaps of token0, plus 4096 times that of token1"),
  ),
  tickSpacing: integerText,
  hooks: v.pipe(v.nullable(hooks), v.description('Null without a hook')),
}

/** Fields that `full=true` adds to a position. */
const figures = {
  amounts: withFull(amounts, 'what the pool owes for all liquidity, in raw units and whole tokens'),
  uncollected_fees: withFull(amounts, 'what any change of the position would pay besides'),
  withdrawable: withFull(
    v.nullable(amounts),
    'only if the hook sees withdrawals: what a complete one paid when it was executed in this reading; null with the reason in withdrawable_error',
  ),
  withdrawable_error: withFull(
    v.nullable(v.picklist(['reverts', 'unsupported'])),
    'reverts: the withdrawal does; unsupported: no endpoint executes it',
  ),
  ...rangeFigures,
  pnl: withFull(v.nullable(pnl), 'as …/pnl; null unless pnl_status is ready'),
  pnl_status: withFull(
    v.picklist(PNL_STATUSES),
    'pending: its history was not read within 2 seconds, ask again; unpriced: a price is missing; failed: …/pnl says why',
  ),
  usd: withFull(
    v.strictObject({
      ...tokenPrices,
      amounts: usdOrNullText,
      uncollected_fees: usdOrNullText,
      total: usdOrNullText,
    }),
    'US dollars, null if one of the tokens has no price; total is amounts and fees, or of each token no more than withdrawable',
  ),
}

function position<const Pool extends v.ObjectEntries>(pool: Pool) {
  const token0 = v.pipe(positionToken, v.description('The native token is the zero address'))
  return managedPosition({ pool, token0, code: v.literal('uniswap_v4'), figures })
}

/** Success body of the list, without `request_id`. */
export const listOutput = v.strictObject({ data: v.array(position(listPool)), pagination, counts: managedCounts })

/** Success body of one position, without `request_id`. */
export const positionOutput = v.strictObject({ data: position({ ...listPool, sqrtPrice: unsignedText }) })
