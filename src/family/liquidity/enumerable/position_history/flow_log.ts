import { type Hex, toEventSelector } from 'viem'
import { decodeWord } from '../../../../chain/call/words.ts'
import { type HistoryLog, IncompleteError } from '../../../../history/stream.ts'
import type { PositionFlow, PositionFlowKind } from '../../position_history/position_flow.ts'

/** Events of a position manager that change a position, by topic. Forks of the manager have the same events. */
export const FLOW_KINDS: ReadonlyMap<Hex, PositionFlowKind> = new Map([
  [toEventSelector('IncreaseLiquidity(uint256,uint128,uint256,uint256)'), 'increase'],
  [toEventSelector('DecreaseLiquidity(uint256,uint128,uint256,uint256)'), 'decrease'],
  [toEventSelector('Collect(uint256,address,uint256,uint256)'), 'collect'],
])
/** An event has three words besides the token id. */
const DATA = /^0x[0-9a-f]{192}$/

/** Decodes the flows in logs, in order, and skips other logs. Throws `IncompleteError` for a truncated log. */
export function decodeFlows(logs: readonly HistoryLog[]): PositionFlow[] {
  return logs.flatMap((log) => {
    const kind = FLOW_KINDS.get(log.topics[0] ?? '0x')
    return kind === undefined ? [] : [decodeFlow(kind, log)]
  })
}

function decodeFlow(kind: PositionFlowKind, log: HistoryLog): PositionFlow {
  const { topics, data, blockNumber: block, logIndex, transactionHash, timestampSec } = log
  const [, id] = topics
  if (id === undefined || !DATA.test(data)) throw new IncompleteError('shape', { fromBlock: block, toBlock: block })
  return {
    tokenId: BigInt(id),
    block,
    logIndex,
    kind,
    transactionHash,
    timestampSec,
    // The first word of a collect is its recipient.
    liquidity: kind === 'collect' ? 0n : decodeWord(data, 0),
    amount0: decodeWord(data, 1),
    amount1: decodeWord(data, 2),
  }
}
