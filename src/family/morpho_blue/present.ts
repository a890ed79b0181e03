import * as v from 'valibot'
import { presentYieldFigures, yieldFigures } from '../../finance/lending/yield.ts'
import type { LendingPosition } from '../../finance/math/lending.ts'
import { chainId, evmAddress } from '../../finance/schema.ts'
import { text } from '../../lib/text/text_format.ts'

const named = v.strictObject({
  chain_id: chainId,
  /** Checksummed. */
  wallet: evmAddress,
  market_id: text({ pattern: /^0x[0-9a-f]{64}$/, words: '0x and 64 hex digits' }),
})

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({ data: v.strictObject({ ...named.entries, ...yieldFigures }) })

/** Yield figures of a position, after the fields that name it. */
export function presentYield(
  names: v.InferOutput<typeof named>,
  position: LendingPosition,
): v.InferOutput<typeof yieldOutput>['data'] {
  return { ...names, ...presentYieldFigures(position) }
}
