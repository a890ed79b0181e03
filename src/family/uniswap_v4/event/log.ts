import { toEventSelector } from 'viem'
import { decodeWord } from '../../../chain/call/words.ts'
import { type HistoryLog, IncompleteError } from '../../../history/stream.ts'
import type { LiquidityChange } from '../../liquidity/position_history/liquidity_change.ts'

/** Topic of the event of a change; its further topics are the id of the pool and the position manager. */
export const CHANGE_TOPIC = toEventSelector('ModifyLiquidity(bytes32,address,int24,int24,int256,bytes32)')
/** Data of the event: both ticks, the liquidity and the salt, which is the token id. */
const DATA = /^0x[0-9a-f]{256}$/

/** Decodes changes from the pool manager's logs, in their order. Throws `IncompleteError` for a log that is cut off. */
export function decodeChanges(logs: readonly HistoryLog[]): LiquidityChange[] {
  return logs.map(({ topics, data, blockNumber: block, logIndex, transactionHash, timestampSec }) => {
    const [, pool] = topics
    if (pool === undefined || !DATA.test(data)) throw new IncompleteError('shape', { fromBlock: block, toBlock: block })
    return {
      pool,
      tokenId: decodeWord(data, 3),
      block,
      logIndex,
      tickLower: Number(BigInt.asIntN(24, decodeWord(data, 0))),
      tickUpper: Number(BigInt.asIntN(24, decodeWord(data, 1))),
      liquidity: BigInt.asIntN(256, decodeWord(data, 2)),
      transactionHash,
      timestampSec,
    }
  })
}
