import { type Hex, numberToHex } from 'viem'
import { computeReceiptsRoot, parseRawTransactionReceipt } from '../../../../src/chain/receipt/receipts_root.ts'
import type { HistoryLog } from '../../../../src/history/stream.ts'
import { EMITTER, POOL_TOPIC, TOKEN_TOPIC, toTopic, toWallet } from '../scene.ts'
import type { Random } from './random.ts'

/** A chain that exists in memory only: its logs, by block. */
export interface SimulatedChain {
  readonly blocks: number
  readonly logs: readonly HistoryLog[]
  /** A block's transactions and the root of their receipts. */
  blockOf(number: number): { readonly transactions: readonly Hex[]; readonly receiptsRoot: Hex }
}

/** What all receipts have in common. */
export const RECEIPT_FIELDS = { type: '0x2', status: '0x1', cumulativeGasUsed: '0x5208', logsBloom: '0x00' } as const

/** Wallets that do something on every simulated chain. */
export const WALLETS: readonly Hex[] = Array.from({ length: 5 }, (_, index) => toWallet(index))

/** A number as a hash, say. */
export const word = (value: number) => numberToHex(value, { size: 32 })

/** Hash of a block, or of the block of a fork. */
export function toHash(block: number, fork = 0): Hex {
  return word(1_000_000_000 + block * 10 + fork)
}

/** Makes a chain: quiet for long stretches, and crowded in some blocks. */
export function simulateChain(random: Random): SimulatedChain {
  const blocks = random.pick([60, 300, 1_200])
  const density = random.pick([0.01, 0.05, 0.15])
  const logs: HistoryLog[] = []
  for (let block = 1; block <= blocks; block++) {
    if (!random.chance(density)) continue
    let logIndex = 0
    const transactions = 1 + random.below(2)
    for (let transactionIndex = 0; transactionIndex < transactions; transactionIndex++) {
      for (let acts = 1 + random.below(3); acts > 0; acts--) {
        const wallet = random.pick(WALLETS)
        const data = word(random.below(1_000_000))
        for (const topic of [POOL_TOPIC, TOKEN_TOPIC]) {
          logs.push({
            address: EMITTER,
            topics: [topic, toTopic(wallet)],
            data,
            blockNumber: block,
            blockHash: toHash(block),
            transactionHash: word(block * 100 + transactionIndex),
            transactionIndex,
            logIndex,
            timestampSec: null,
          })
          logIndex++
        }
      }
    }
  }
  return { blocks, logs, blockOf: (number) => createBlock(logs, number) }
}

function createBlock(logs: readonly HistoryLog[], number: number) {
  const own = logs.filter(({ blockNumber }) => blockNumber === number)
  const transactions = [...new Set(own.map(({ transactionHash }) => transactionHash))]
  const receipts = transactions.map((hash) => ({
    ...RECEIPT_FIELDS,
    logs: own.filter(({ transactionHash }) => transactionHash === hash),
  }))
  return { transactions, receiptsRoot: computeReceiptsRoot(receipts.map(parseRawTransactionReceipt)) }
}
