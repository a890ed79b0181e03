import * as v from 'valibot'
import { presentYieldFigures, yieldFigures } from '../../../finance/lending/yield.ts'
import type { LendingPosition } from '../../../finance/math/lending.ts'
import { chainId, evmAddress } from '../../../finance/schema.ts'
import { marketIdText } from './schema.ts'

const named = v.strictObject({
  chain_id: chainId,
  /** Checksummed. */
  wallet: evmAddress,
  market_id: marketIdText,
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
