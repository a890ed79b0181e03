import type { Clock } from '../lib/clock.ts'

const INTERVAL_MS = 5_000

/** Reports long work every five seconds. */
export function createProgress({
  clock,
  say,
  verb,
}: {
  readonly clock: Clock
  readonly say: (line: string) => void
  /** `Wrote`, `Restored`. */
  readonly verb: string
}): (table: string, rows: number) => void {
  let nextMs = clock.monotonicMs() + INTERVAL_MS
  return (table, rows) => {
    const nowMs = clock.monotonicMs()
    if (nowMs < nextMs) return
    nextMs = nowMs + INTERVAL_MS
    say(`${verb} ${rows.toLocaleString('en')} rows of ${table} …`)
  }
}
