import { type Hex, toEventSelector } from 'viem'
import { type HistoryLog, IncompleteError } from '../../../history/stream.ts'
import type { FlowRow } from './row.ts'

/** The manager's events that change a position. Every manager that is built alike has them. */
export const FLOW_TOPICS = {
  increase: toEventSelector('IncreaseLiquidity(uint256,uint128,uint256,uint256)'),
  decrease: toEventSelector('DecreaseLiquidity(uint256,uint128,uint256,uint256)'),
  collect: toEventSelector('Collect(uint256,address,uint256,uint256)'),
} as const

const KIND_OF = new Map<Hex | undefined, FlowRow['kind']>(
  Object.entries(FLOW_TOPICS).map(([kind, topic]) => [topic, kind as FlowRow['kind']]),
)

/** A token id as topics and subjects name it: 32 bytes. */
export function idWord(tokenId: bigint): Hex {
  return `0x${tokenId.toString(16).padStart(64, '0')}`
}

/** Flows of the manager's logs, in their order. Throws `IncompleteError` for a log that is cut off. */
export function flowsOf(logs: readonly HistoryLog[]): FlowRow[] {
  return logs.flatMap((log) => {
    const kind = KIND_OF.get(log.topics[0])
    return kind === undefined ? [] : [flowOf(kind, log)]
  })
}

function flowOf(kind: FlowRow['kind'], log: HistoryLog): FlowRow {
  const { topics, blockNumber, logIndex, transactionHash, timestampSec } = log
  const [, id] = topics
  if (id === undefined || !/^0x[0-9a-f]{192}$/.test(log.data)) {
    throw new IncompleteError('shape', { fromBlock: blockNumber, toBlock: blockNumber })
  }
  const [first, amount0, amount1] = [0, 1, 2].map((index) =>
    BigInt(`0x${log.data.slice(2 + 64 * index, 66 + 64 * index)}`),
  )
  return {
    ...{ tokenId: BigInt(id), blockNumber, logIndex, kind, transactionHash, timestampSec },
    // The first word of a collect is who receives it.
    liquidity: kind === 'collect' ? 0n : (first ?? 0n),
    amount0: amount0 ?? 0n,
    amount1: amount1 ?? 0n,
  }
}
