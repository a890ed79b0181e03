import type { Hex } from 'viem'
import type { HistoryLog } from '../stream.ts'

const ADDRESS = /^0x[0-9a-f]{40}$/
const WORD = /^0x[0-9a-f]{64}$/
const BYTES = /^0x(?:[0-9a-f]{2})*$/
/** At most 2^52: JSON numbers and dates hold it exactly. */
const QUANTITY = /^0x[0-9a-f]{1,13}$/

/** Reads the result of `eth_getLogs`. Throws `TypeError` on anything that is not a list of mined logs. */
export function parseLogs(result: unknown): readonly HistoryLog[] {
  if (!Array.isArray(result)) throw new TypeError('Expected a list of logs')
  return result.map(parseLog)
}

/** A transaction's logs, and the block that holds it. */
export interface Receipt {
  readonly transactionHash: Hex
  readonly blockHash: Hex
  readonly blockNumber: number
  readonly logs: readonly HistoryLog[]
}

/** Reads the result of `eth_getTransactionReceipt`; undefined if the endpoint does not have it. */
export function parseReceipt(result: unknown): Receipt | undefined {
  if (result === null) return undefined
  const receipt = (typeof result === 'object' ? result : {}) as Readonly<Record<string, unknown>>
  const [transactionHash, blockHash] = [word(receipt['transactionHash']), word(receipt['blockHash'])]
  const blockNumber = quantity(receipt['blockNumber'])
  const logs = parseLogs(receipt['logs'])
  const isWhole = logs.every((log) => log.transactionHash === transactionHash && log.blockHash === blockHash)
  if (!isWhole) throw new TypeError('Expected the logs of one transaction')
  return { transactionHash, blockHash, blockNumber, logs }
}

function parseLog(value: unknown): HistoryLog {
  const log = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
  const { topics, removed, blockTimestamp } = log
  if (!Array.isArray(topics) || topics.length > 4 || removed === true) throw new TypeError('Expected a mined log')
  return {
    address: matching(log['address'], ADDRESS),
    topics: topics.map(word),
    data: matching(log['data'], BYTES),
    blockNumber: quantity(log['blockNumber']),
    blockHash: word(log['blockHash']),
    transactionHash: word(log['transactionHash']),
    transactionIndex: quantity(log['transactionIndex']),
    logIndex: quantity(log['logIndex']),
    timestampSec: blockTimestamp === undefined || blockTimestamp === null ? null : quantity(blockTimestamp),
  }
}

function word(value: unknown): Hex {
  return matching(value, WORD)
}

/** Nodes write lower case; a few write addresses with a checksum. */
function matching(value: unknown, pattern: RegExp): Hex {
  if (typeof value === 'string') {
    if (pattern.test(value)) return value as Hex
    const lower = value.toLowerCase()
    if (pattern.test(lower)) return lower as Hex
  }
  throw new TypeError('Expected hexadecimal of a fixed length in a log')
}

function quantity(value: unknown): number {
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw new TypeError('Expected a quantity in a log')
  return Number(value)
}
