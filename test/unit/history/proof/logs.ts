import type { Hex } from 'viem'
import type { HistoryLog } from '../../../../src/history/stream.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { EMITTER, POOL_TOPIC, toTopic, toWallet } from '../../../support/history/scene.ts'
import { toHash, word } from '../../../support/history/simulation/chain.ts'

/** Never fires. */
export const never = createWork(new AbortController().signal)

/** The transaction with this number in a block. */
export function toTransactionHash(block: number, index = 0): Hex {
  return word(block * 100 + index)
}

/** A log of the first transaction of a block. */
export function logAt(block: number, change: Partial<HistoryLog> = {}): HistoryLog {
  return {
    address: EMITTER,
    topics: [POOL_TOPIC, toTopic(toWallet(1))],
    data: word(block),
    blockNumber: block,
    blockHash: toHash(block),
    transactionHash: toTransactionHash(block),
    transactionIndex: 0,
    logIndex: 0,
    timestampSec: null,
    ...change,
  }
}
