import type { Hex } from 'viem'
import { EndpointError } from '../../chain/rpc/error.ts'
import type { Range } from '../range.ts'
import type { HistoryLog, LogFilter } from '../stream.ts'
import { NO_TRANSACTION } from './parse_logs.ts'
import { compareLogs, isSameLog } from './witness.ts'

/** The blocks of a request: a range, or one block by its hash. */
export type LogRange = Range | { readonly blockHash: Hex; readonly number: number }

/** Puts logs in order, without repetitions of the same log: neither says anything false. */
export function orderLogs(logs: readonly HistoryLog[]): readonly HistoryLog[] {
  const isOrdered = logs.every((log, index) => index === 0 || compareLogs(logs[index - 1] as HistoryLog, log) < 0)
  if (isOrdered) return logs
  return logs.toSorted(compareLogs).filter((log, index, sorted) => {
    const previous = sorted[index - 1]
    return previous === undefined || !isSameLog(previous, log) || previous.timestampSec !== log.timestampSec
  })
}

/**
 * Checks that an endpoint's logs match the request and do not contradict each other: each within the range and the
 * filter; in order; positions without repeats; one hash for each block, and one block for each transaction; logs of no
 * transaction may come at any place. Throws `EndpointError` (false_logs). Missing logs cannot be detected here.
 */
export function checkLogs(logs: readonly HistoryLog[], filter: LogFilter, range: LogRange): void {
  const matcher = toLogMatcher(filter)
  const transactions = new Map<Hex, HistoryLog>()
  let previous: HistoryLog | undefined
  for (const log of logs) {
    if (!isWithin(log, range)) throw invalidLogsError('a log outside the range', log)
    if (!isMatch(log, matcher)) throw invalidLogsError('a log that the filter does not want', log)
    if (previous !== undefined) {
      if (log.blockNumber < previous.blockNumber) throw invalidLogsError('logs out of order', log)
      if (log.blockNumber === previous.blockNumber) checkSameBlock(log, previous)
    }
    const first = transactions.get(log.transactionHash)
    if (log.transactionHash === NO_TRANSACTION) {
      // Chains give them any index.
    } else if (first === undefined) transactions.set(log.transactionHash, log)
    else if (first.blockNumber !== log.blockNumber || first.transactionIndex !== log.transactionIndex) {
      throw invalidLogsError('one transaction at two places', log)
    }
    previous = log
  }
}

function checkSameBlock(log: HistoryLog, previous: HistoryLog): void {
  if (log.blockHash !== previous.blockHash) throw invalidLogsError('one block with two hashes', log)
  const [time, timeBefore] = [log.timestampSec ?? previous.timestampSec, previous.timestampSec ?? log.timestampSec]
  if (time !== timeBefore) throw invalidLogsError('one block with two times', log)
  if (log.logIndex === previous.logIndex) throw invalidLogsError('a log index twice', log)
  if (log.logIndex < previous.logIndex) throw invalidLogsError('logs out of order', log)
  if (log.transactionHash === NO_TRANSACTION || previous.transactionHash === NO_TRANSACTION) return
  if (log.transactionIndex < previous.transactionIndex) {
    throw invalidLogsError('logs out of order', log)
  }
  const isSameTransaction = log.transactionHash === previous.transactionHash
  if (isSameTransaction !== (log.transactionIndex === previous.transactionIndex)) {
    throw invalidLogsError('two transactions at one place', log)
  }
}

function isWithin(log: HistoryLog, range: LogRange): boolean {
  if ('blockHash' in range) return log.blockHash === range.blockHash && log.blockNumber === range.number
  return log.blockNumber >= range.fromBlock && log.blockNumber <= range.toBlock
}

function toLogMatcher({ addresses, topics }: LogFilter) {
  return {
    addresses: addresses && new Set(addresses),
    topics: topics.map((each) => (each === null ? null : new Set(each))),
  }
}

function isMatch(log: HistoryLog, { addresses, topics }: ReturnType<typeof toLogMatcher>): boolean {
  if (addresses?.has(log.address) === false) return false
  return topics.every((allowedTopics, index) => {
    const topic = log.topics[index]
    return topic !== undefined && (allowedTopics === null || allowedTopics.has(topic))
  })
}

function invalidLogsError(fault: string, { blockNumber, logIndex }: HistoryLog): EndpointError {
  return new EndpointError('false_logs', `The endpoint gave ${fault} (block ${blockNumber}, log ${logIndex})`)
}

/**
 * Merges the lists of different filters; a log in several lists comes once. Throws `EndpointError` (false_logs) if two
 * lists have different logs at one position.
 */
export function mergeLogs(lists: readonly (readonly HistoryLog[])[]): readonly HistoryLog[] {
  const all = lists.flat().sort(compareLogs)
  return all.filter((log, index) => {
    const previous = all[index - 1]
    if (previous === undefined || compareLogs(previous, log) !== 0) return true
    if (!isSameLog(previous, log)) throw new EndpointError('false_logs', 'The endpoint gave two logs at one position')
    return false
  })
}
