import { type Hex, padHex } from 'viem'
import { toLowerHex } from '../../../../chain/call/words.ts'
import {
  LIQUIDITY_CHANGES,
  type LiquidityChange,
} from '../../../../finance/liquidity/position_history/liquidity_change.ts'
import type { Stream, StreamTarget } from '../../../../history/stream.ts'
import { CHANGE_TOPIC, decodeChanges } from '../../event/log.ts'
import type { UniswapV4Deployment } from '../../table/deployments.ts'

/** Where changes are logged: by the pool manager, for one position manager, which names the place. */
export interface ChangeTarget extends StreamTarget {
  /** Lower case. */
  readonly poolManager: Hex
}

/**
 * What changed positions. A log names the pool and the manager in its topics and the token id in its data alone, so a
 * subject is a pool: its changes serve all who hold positions in it.
 */
export const CHANGE_STREAM: Stream<LiquidityChange, ChangeTarget> = {
  name: 'uniswap_v4_change',
  table: LIQUIDITY_CHANGES,
  filters: ({ contract, poolManager }, subjects) => [
    { addresses: [poolManager], topics: [[CHANGE_TOPIC], subjects, [padHex(contract, { size: 32 })]] },
  ],
  decode: (_, logs) => ({ rows: decodeChanges(logs), unsettled: [] }),
}

/** Where history follows a deployment. */
export function toChangeTarget(
  chainId: number,
  { positionManager, poolManager, startBlock }: UniswapV4Deployment,
): ChangeTarget {
  return { chainId, contract: toLowerHex(positionManager), poolManager: toLowerHex(poolManager), startBlock }
}
