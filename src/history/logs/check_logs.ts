import type { Hex } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import type { Range } from '../range.ts'
import type { HistoryLog, LogFilter } from '../stream.ts'
import { compareLogs, isSameLog } from './witness.ts'

/** What was asked: a range of blocks, or one block by its hash. */
export type LogRange = Range | { readonly blockHash: Hex; readonly number: number }

/** An endpoint gave logs that cannot be an answer to the question. */
export class InvalidLogsError extends UpstreamError {}

/**
 * Checks that an endpoint's logs answer the question and contradict each other nowhere: each within the range and the
 * filter; in order; positions without repeats; one hash for each block, and one block for each transaction. Throws
 * `InvalidLogsError`. That logs are missing cannot be seen here.
 */
export function checkLogs(logs: readonly HistoryLog[], filter: LogFilter, range: LogRange): void {
  const wanted = wantedOf(filter)
  const transactions = new Map<Hex, HistoryLog>()
  let before: HistoryLog | undefined
  for (const log of logs) {
    if (!isWithin(log, range)) throw wrong('a log outside the range', log)
    if (!isWanted(log, wanted)) throw wrong('a log that the filter does not want', log)
    if (before !== undefined) {
      if (log.blockNumber < before.blockNumber) throw wrong('logs out of order', log)
      if (log.blockNumber === before.blockNumber) checkSameBlock(log, before)
    }
    const first = transactions.get(log.transactionHash)
    if (first === undefined) transactions.set(log.transactionHash, log)
    else if (first.blockNumber !== log.blockNumber || first.transactionIndex !== log.transactionIndex) {
      throw wrong('one transaction at two places', log)
    }
    before = log
  }
}

function checkSameBlock(log: HistoryLog, before: HistoryLog): void {
  if (log.blockHash !== before.blockHash) throw wrong('one block with two hashes', log)
  if (log.timestampSec !== before.timestampSec) throw wrong('one block with two times', log)
  if (log.logIndex === before.logIndex) throw wrong('a log index twice', log)
  if (log.logIndex < before.logIndex || log.transactionIndex < before.transactionIndex) {
    throw wrong('logs out of order', log)
  }
  const isSameTransaction = log.transactionHash === before.transactionHash
  if (isSameTransaction !== (log.transactionIndex === before.transactionIndex)) {
    throw wrong('two transactions at one place', log)
  }
}

function isWithin(log: HistoryLog, range: LogRange): boolean {
  if ('blockHash' in range) return log.blockHash === range.blockHash && log.blockNumber === range.number
  return log.blockNumber >= range.fromBlock && log.blockNumber <= range.toBlock
}

function wantedOf({ addresses, topics }: LogFilter) {
  return {
    addresses: addresses && new Set(addresses),
    topics: topics.map((each) => (each === null ? null : new Set(each))),
  }
}

function isWanted(log: HistoryLog, { addresses, topics }: ReturnType<typeof wantedOf>): boolean {
  if (addresses?.has(log.address) === false) return false
  return topics.every((wanted, index) => {
    const topic = log.topics[index]
    return topic !== undefined && (wanted === null || wanted.has(topic))
  })
}

function wrong(what: string, { blockNumber, logIndex }: HistoryLog): InvalidLogsError {
  return new InvalidLogsError(`The endpoint gave ${what} (block ${blockNumber}, log ${logIndex})`)
}

/**
 * Lists of different filters as one; a log that several filters found comes once. Throws `InvalidLogsError` if they differ
 * about one position.
 */
export function mergeLogs(lists: readonly (readonly HistoryLog[])[]): readonly HistoryLog[] {
  const all = lists.flat().sort(compareLogs)
  return all.filter((log, index) => {
    const before = all[index - 1]
    if (before === undefined || compareLogs(before, log) !== 0) return true
    if (!isSameLog(before, log)) throw new InvalidLogsError('The endpoint gave two logs at one position')
    return false
  })
}
