import { type Hex, toEventSelector } from 'viem'
import { wordOf } from '../../../chain/call/words.ts'
import type { PositionFlow, PositionFlowKind } from '../../../history/rows/position_flow.ts'
import { type HistoryLog, IncompleteError } from '../../../history/stream.ts'

/** The manager's events that change a position. Every manager that is built alike has them. */
export const FLOW_TOPICS: Readonly<Record<PositionFlowKind, Hex>> = {
  increase: toEventSelector('IncreaseLiquidity(uint256,uint128,uint256,uint256)'),
  decrease: toEventSelector('DecreaseLiquidity(uint256,uint128,uint256,uint256)'),
  collect: toEventSelector('Collect(uint256,address,uint256,uint256)'),
}

const KIND_OF = new Map<Hex | undefined, PositionFlowKind>(
  Object.entries(FLOW_TOPICS).map(([kind, topic]) => [topic, kind as PositionFlowKind]),
)
/** An event has three words besides the token id. */
const DATA = /^0x[0-9a-f]{192}$/

/** Flows of the manager's logs, in their order; other logs are none. Throws `IncompleteError` for a log that is cut off. */
export function flowsOf(logs: readonly HistoryLog[]): PositionFlow[] {
  return logs.flatMap((log) => {
    const kind = KIND_OF.get(log.topics[0])
    return kind === undefined ? [] : [flowOf(kind, log)]
  })
}

function flowOf(kind: PositionFlowKind, log: HistoryLog): PositionFlow {
  const { topics, data, blockNumber: block, logIndex, transactionHash, timestampSec } = log
  const [, id] = topics
  if (id === undefined || !DATA.test(data)) throw new IncompleteError('shape', { fromBlock: block, toBlock: block })
  return {
    ...{ tokenId: BigInt(id), block, logIndex, kind, transactionHash, timestampSec },
    // The first word of a collect is who receives it.
    liquidity: kind === 'collect' ? 0n : wordOf(data, 0),
    amount0: wordOf(data, 1),
    amount1: wordOf(data, 2),
  }
}
