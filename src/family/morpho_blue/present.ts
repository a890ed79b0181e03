import * as v from 'valibot'
import type { Address, Hex } from 'viem'
import type { LendingPosition } from '../../finance/lending.ts'
import { text } from '../../lib/text/text_format.ts'
import { chainId, evmAddress } from '../schema.ts'
import { presentYieldFigures, yieldFigures } from '../yield.ts'

/** Which position an answer is about. */
export interface Named {
  readonly chainId: number
  /** Checksummed. */
  readonly wallet: Address
  readonly marketId: Hex
}

/** Body of a yield answer, without `request_id`. */
export const yieldOutput = v.strictObject({
  data: v.strictObject({
    chain_id: chainId,
    wallet: evmAddress,
    market_id: text({ pattern: /^0x[0-9a-f]{64}$/, words: '0x and 64 hex digits' }),
    ...yieldFigures,
  }),
})

/** Yield figures of a position, after the fields that name it. */
export function presentYield(
  { chainId, wallet, marketId }: Named,
  position: LendingPosition,
): v.InferOutput<typeof yieldOutput>['data'] {
  return { chain_id: chainId, wallet, market_id: marketId, ...presentYieldFigures(position) }
}
