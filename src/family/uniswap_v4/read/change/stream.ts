import { type Hex, padHex } from 'viem'
import { toLowerHex } from '../../../../chain/call/words.ts'
import type { Stream, StreamTarget } from '../../../../history/stream.ts'
import { LIQUIDITY_CHANGES, type LiquidityChange } from '../../../liquidity/position_history/liquidity_change.ts'
import { CHANGE_TOPIC, decodeChanges } from '../../event/log.ts'
import type { UniswapV4Deployment } from '../../table.ts'

/** The pool manager that logs changes, for one position manager, which is the `contract` of the target. */
export interface ChangeTarget extends StreamTarget {
  /** Lower case. */
  readonly poolManager: Hex
}

/**
 * The stream of changes of positions. A log has the pool and the manager in its topics but the token id only in its
 * data, so a subject is a pool: its changes serve all positions in it.
 */
export const CHANGE_STREAM: Stream<LiquidityChange, ChangeTarget> = {
  name: 'uniswap_v4_change',
  table: LIQUIDITY_CHANGES,
  filters: ({ contract, poolManager }, subjects) => [
    { addresses: [poolManager], topics: [[CHANGE_TOPIC], subjects, [padHex(contract, { size: 32 })]] },
  ],
  decode: (_, logs) => ({ rows: decodeChanges(logs), unsettled: [] }),
}

/** Converts a deployment to the target that history follows. */
export function toChangeTarget(
  chainId: number,
  { positionManager, poolManager, startBlock }: UniswapV4Deployment,
): ChangeTarget {
  return { chainId, contract: toLowerHex(positionManager), poolManager: toLowerHex(poolManager), startBlock }
}
