import { compareLogs, isSameLog } from '../proof/witness.ts'
import type { HistoryLog } from '../stream.ts'
import { FalseLogsError } from './check_logs.ts'

/**
 * Lists of different filters as one; a log that several filters found comes once. Throws `FalseLogsError` if they differ
 * about one position.
 */
export function merged(lists: readonly (readonly HistoryLog[])[]): readonly HistoryLog[] {
  const all = lists.flat().sort(compareLogs)
  return all.filter((log, index) => {
    const before = all[index - 1]
    if (before === undefined || compareLogs(before, log) !== 0) return true
    if (!isSameLog(before, log)) throw new FalseLogsError('The endpoint gave two logs at one position')
    return false
  })
}
