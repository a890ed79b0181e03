import { systemClock } from '../../lib/clock.ts'

const INTERVAL_MS = 5_000

/** Creates a progress callback that reports every five seconds. */
export function createProgress(
  verb: 'Wrote' | 'Restored',
  report: (line: string) => void,
): (table: string, rows: number) => void {
  let nextMs = systemClock.monotonicMs() + INTERVAL_MS
  return (table, rows) => {
    const nowMs = systemClock.monotonicMs()
    if (nowMs < nextMs) return
    nextMs = nowMs + INTERVAL_MS
    report(`${verb} ${rows.toLocaleString('en')} rows of ${table} …`)
  }
}
