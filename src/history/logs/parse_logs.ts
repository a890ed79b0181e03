import { parseLowerAddress, parseLowerBytes, parseLowerWord } from '../../chain/rpc/value.ts'
import type { HistoryLog } from '../stream.ts'

/** At most 2^52: JSON numbers and dates hold it exactly. */
const QUANTITY = /^0x[0-9a-f]{1,13}$/

/** Reads the result of `eth_getLogs`. Throws `TypeError` on anything that is not a list of mined logs. */
export function parseLogs(result: unknown): readonly HistoryLog[] {
  if (!Array.isArray(result)) throw new TypeError('Expected a list of logs')
  return result.map(logParser())
}

/** Reads the logs in the result of `eth_getTransactionReceipt`; undefined if the endpoint does not have it. */
export function parseReceipt(result: unknown): readonly HistoryLog[] | undefined {
  if (result === null) return undefined
  const receipt = (typeof result === 'object' ? result : {}) as Readonly<Record<string, unknown>>
  const [transactionHash, blockHash] = [
    parseLowerWord(receipt['transactionHash']),
    parseLowerWord(receipt['blockHash']),
  ]
  quantity(receipt['blockNumber'])
  const logs = parseLogs(receipt['logs'])
  const isWhole = logs.every((log) => log.transactionHash === transactionHash && log.blockHash === blockHash)
  if (!isWhole) throw new TypeError('Expected the logs of one transaction')
  return logs
}

/** Logs of one list mostly share what the one before them has: that is read once. */
function logParser(): (value: unknown) => HistoryLog {
  const [address, blockHash, transactionHash] = [
    onceInARow(parseLowerAddress),
    onceInARow(parseLowerWord),
    onceInARow(parseLowerWord),
  ]
  const [blockNumber, transactionIndex, timestamp] = [onceInARow(quantity), onceInARow(quantity), onceInARow(quantity)]
  return (value) => {
    const log = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
    const { topics, removed, blockTimestamp } = log
    if (!Array.isArray(topics) || topics.length > 4 || removed === true) throw new TypeError('Expected a mined log')
    return {
      address: address(log['address']),
      topics: topics.map(parseLowerWord),
      data: parseLowerBytes(log['data']),
      blockNumber: blockNumber(log['blockNumber']),
      blockHash: blockHash(log['blockHash']),
      transactionHash: transactionHash(log['transactionHash']),
      transactionIndex: transactionIndex(log['transactionIndex']),
      logIndex: quantity(log['logIndex']),
      timestampSec: blockTimestamp === undefined || blockTimestamp === null ? null : timestamp(blockTimestamp),
    }
  }
}

/** The same function, which runs once for equal values that follow each other. */
function onceInARow<T>(parse: (value: unknown) => T): (value: unknown) => T {
  let last: { readonly value: unknown; readonly parsed: T } | undefined
  return (value) => {
    if (last === undefined || last.value !== value) last = { value, parsed: parse(value) }
    return last.parsed
  }
}

function quantity(value: unknown): number {
  if (typeof value !== 'string' || !QUANTITY.test(value)) throw new TypeError('Expected a quantity in a log')
  return Number(value)
}
