import type { HistoryLog } from '../stream.ts'

/** The comparison of several reads of one range of blocks. */
export interface LogComparison {
  /** Every log of any read, in order. Includes both logs where two differ at one position. */
  readonly union: readonly HistoryLog[]
  /** Logs that are missing in some reads, each with the indexes of the reads that have it. */
  readonly disputed: readonly { readonly log: HistoryLog; readonly givers: readonly number[] }[]
}

/** Compares reads of one range, each in order. Two logs are the same only if all fields except the time are equal. */
export function compareReads(reads: readonly (readonly HistoryLog[])[]): LogComparison {
  const [first = [], ...otherReads] = reads
  // Fast path: nearly always all reads are the same.
  if (otherReads.every((other) => isSameList(first, other))) return { union: first, disputed: [] }
  const entriesByKey = new Map<string, { log: HistoryLog; readonly givers: number[] }>()
  for (const [index, read] of reads.entries()) {
    for (const log of read) {
      const key = getKey(log)
      const entry = entriesByKey.get(key)
      if (entry === undefined) entriesByKey.set(key, { log, givers: [index] })
      else {
        entry.givers.push(index)
        // Take the time from any endpoint that returns it.
        if (entry.log.timestampSec === null) entry.log = log
      }
    }
  }
  const all = [...entriesByKey.values()].sort((a, b) => compareLogs(a.log, b.log))
  return { union: all.map(({ log }) => log), disputed: all.filter(({ givers }) => givers.length < reads.length) }
}

/** The order of logs on their chain. */
export function compareLogs(a: HistoryLog, b: HistoryLog): number {
  return a.blockNumber - b.blockNumber || a.logIndex - b.logIndex
}

/** True if both are one log of one chain. */
export function isSameLog(a: HistoryLog, b: HistoryLog): boolean {
  return (
    a.blockNumber === b.blockNumber &&
    a.logIndex === b.logIndex &&
    a.transactionHash === b.transactionHash &&
    a.blockHash === b.blockHash &&
    a.address === b.address &&
    a.data === b.data &&
    a.transactionIndex === b.transactionIndex &&
    a.topics.length === b.topics.length &&
    a.topics.every((topic, index) => topic === b.topics[index])
  )
}

/** True if the log is among those of a receipt. */
export function isInReceipt(log: HistoryLog, logs: readonly HistoryLog[]): boolean {
  return logs.some((each) => isSameLog(each, log))
}

/** Logs with the times that two endpoints agree on; with a single endpoint, its own times. */
export function withAgreedTimes(
  logs: readonly HistoryLog[],
  byEndpoint: readonly (readonly HistoryLog[])[],
): readonly HistoryLog[] {
  const isSame = (endpointLogs: readonly HistoryLog[]) =>
    endpointLogs.length === logs.length &&
    endpointLogs.every(({ timestampSec }, index) => timestampSec === logs[index]?.timestampSec)
  if (byEndpoint.length < 2 || byEndpoint.every(isSame)) return logs
  const times = byEndpoint.map(
    (endpointLogs) => new Map(endpointLogs.map((log) => [getPosition(log), log.timestampSec])),
  )
  return logs.map((log) => {
    const claimedTimes = times.flatMap((each) => each.get(getPosition(log)) ?? [])
    const agreed = claimedTimes.find((time, index) => claimedTimes.indexOf(time) !== index)
    return { ...log, timestampSec: agreed ?? null }
  })
}

function getPosition({ blockNumber, logIndex }: HistoryLog): string {
  return `${blockNumber}:${logIndex}`
}

/** True if both are the same logs in the same order. */
export function isSameList(a: readonly HistoryLog[], b: readonly HistoryLog[]): boolean {
  return a === b || (a.length === b.length && a.every((log, index) => isSameLog(log, b[index] as HistoryLog)))
}

function getKey({ blockHash, transactionHash, transactionIndex, logIndex, address, topics, data }: HistoryLog): string {
  return `${blockHash}${transactionHash}${transactionIndex}:${logIndex}${address}${topics.join()}${data}`
}
