import type { HistoryLog } from '../stream.ts'

/** What several reads of one range of blocks say together. */
export interface LogComparison {
  /** Every log that any of them gave, in order. Of two that differ at one position, both. */
  readonly union: readonly HistoryLog[]
  /** Logs that not all of them gave, each with the positions of the reads that did. */
  readonly disputed: readonly { readonly log: HistoryLog; readonly givers: readonly number[] }[]
}

/** Compares reads of one range, each in order. A log is the same only if all of it is, its time apart. */
export function compareReads(reads: readonly (readonly HistoryLog[])[]): LogComparison {
  const [first = [], ...others] = reads
  // Nearly always all of them are the same.
  if (others.every((other) => isSameList(first, other))) return { union: first, disputed: [] }
  const seen = new Map<string, { log: HistoryLog; readonly givers: number[] }>()
  for (const [index, read] of reads.entries()) {
    for (const log of read) {
      const key = keyOf(log)
      const known = seen.get(key)
      if (known === undefined) seen.set(key, { log, givers: [index] })
      else {
        known.givers.push(index)
        // An endpoint that knows the time tells it for the others.
        if (known.log.timestampSec === null) known.log = log
      }
    }
  }
  const all = [...seen.values()].sort((a, b) => compareLogs(a.log, b.log))
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

/** Logs with the times that two of these endpoints gave; if only one was asked, with its own. */
export function withAgreedTimes(
  logs: readonly HistoryLog[],
  byEndpoint: readonly (readonly HistoryLog[])[],
): readonly HistoryLog[] {
  const isSame = (given: readonly HistoryLog[]) =>
    given.length === logs.length && given.every(({ timestampSec }, index) => timestampSec === logs[index]?.timestampSec)
  if (byEndpoint.length < 2 || byEndpoint.every(isSame)) return logs
  const times = byEndpoint.map((given) => new Map(given.map((log) => [positionOf(log), log.timestampSec])))
  return logs.map((log) => {
    const given = times.flatMap((each) => each.get(positionOf(log)) ?? [])
    const agreed = given.find((time, index) => given.indexOf(time) !== index)
    return { ...log, timestampSec: agreed ?? null }
  })
}

function positionOf({ blockNumber, logIndex }: HistoryLog): string {
  return `${blockNumber}:${logIndex}`
}

/** True if both are the same logs in the same order. */
export function isSameList(a: readonly HistoryLog[], b: readonly HistoryLog[]): boolean {
  return a.length === b.length && a.every((log, index) => isSameLog(log, b[index] as HistoryLog))
}

function keyOf({ blockHash, transactionHash, transactionIndex, logIndex, address, topics, data }: HistoryLog): string {
  return `${blockHash}${transactionHash}${transactionIndex}:${logIndex}${address}${topics.join()}${data}`
}
