import { parseLowerAddress, parseLowerBytes, parseLowerWord } from '../../chain/rpc/value.ts'
import type { HistoryLog } from '../stream.ts'

/** At most 2^52, so that JSON numbers and dates hold it exactly; nodes differ in leading zeros and capitals. */
const QUANTITY = /^0x0*[0-9a-f]{1,13}$/i
/** Stands for the transaction of logs that have none, as those of the chain itself. */
export const NO_TRANSACTION = `0x${'0'.repeat(64)}` as const

/** Reads the result of `eth_getLogs`. Throws `TypeError` on anything that is not a list of mined logs. */
export function parseLogs(result: unknown): readonly HistoryLog[] {
  if (!Array.isArray(result)) throw new TypeError('Expected a list of logs')
  return result.map(createLogParser())
}

/** Reads the logs in the result of `eth_getTransactionReceipt`; undefined if the endpoint does not have it. */
export function parseReceipt(result: unknown): readonly HistoryLog[] | undefined {
  if (result === null) return undefined
  const receipt = (typeof result === 'object' ? result : {}) as Readonly<Record<string, unknown>>
  const [transactionHash, blockHash] = [
    parseLowerWord(receipt['transactionHash']),
    parseLowerWord(receipt['blockHash']),
  ]
  parseQuantity(receipt['blockNumber'])
  const logs = parseLogs(receipt['logs'])
  const isOneTransaction = logs.every((log) => log.transactionHash === transactionHash && log.blockHash === blockHash)
  if (!isOneTransaction) throw new TypeError('Expected the logs of one transaction')
  return logs
}

/** Creates a parser that reuses the parsed fields of the previous log, which consecutive logs mostly share. */
function createLogParser(): (value: unknown) => HistoryLog {
  const [address, blockHash, transactionHash] = [
    memoizeLast(parseLowerAddress),
    memoizeLast(parseLowerWord),
    memoizeLast((value) => parseLowerWord(value ?? NO_TRANSACTION)),
  ]
  const [blockNumber, transactionIndex, timestamp] = [
    memoizeLast(parseQuantity),
    memoizeLast((value) => parseQuantity(value ?? 0)),
    memoizeLast(parseTime),
  ]
  return (value) => {
    const log = (typeof value === 'object' && value !== null ? value : {}) as Readonly<Record<string, unknown>>
    const { topics, removed, blockTimestamp } = log
    if (!Array.isArray(topics) || topics.length > 4 || removed === true) throw new TypeError('Expected a mined log')
    return {
      address: address(log['address']),
      topics: topics.map(parseLowerWord),
      data: parseLowerBytes(log['data'] || '0x'),
      blockNumber: blockNumber(log['blockNumber']),
      blockHash: blockHash(log['blockHash']),
      transactionHash: transactionHash(log['transactionHash']),
      transactionIndex: transactionIndex(log['transactionIndex']),
      logIndex: parseQuantity(log['logIndex']),
      timestampSec: timestamp(blockTimestamp),
    }
  }
}

/** Wraps a parser so that consecutive equal values are parsed once. */
function memoizeLast<T>(parse: (value: unknown) => T): (value: unknown) => T {
  let last: { readonly value: unknown; readonly parsed: T } | undefined
  return (value) => {
    if (last === undefined || last.value !== value) last = { value, parsed: parse(value) }
    return last.parsed
  }
}

function parseQuantity(value: unknown): number {
  const number = toNumber(value)
  if (number === undefined) throw new TypeError('Expected a quantity in a log')
  return number
}

/** The time of a log is optional: one that cannot be read, or is 0 as some nodes send it, is absent. */
function parseTime(value: unknown): number | null {
  return toNumber(value) || null
}

function toNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) && value >= 0 ? value : undefined
  return typeof value === 'string' && QUANTITY.test(value) ? Number(value) : undefined
}
