import { systemClock } from '../../lib/clock.ts'

const INTERVAL_MS = 5_000

/** Reports long work every five seconds. */
export function createProgress(
  verb: 'Wrote' | 'Restored',
  say: (line: string) => void,
): (table: string, rows: number) => void {
  let nextMs = systemClock.monotonicMs() + INTERVAL_MS
  return (table, rows) => {
    const nowMs = systemClock.monotonicMs()
    if (nowMs < nextMs) return
    nextMs = nowMs + INTERVAL_MS
    say(`${verb} ${rows.toLocaleString('en')} rows of ${table} …`)
  }
}
