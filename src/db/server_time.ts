import { serverTime } from '../../sql/queries.ts'
import type { Clock } from '../lib/clock.ts'
import type { Database } from './database.ts'

/** Until the server is asked again, milliseconds: by then the clocks may have drifted by a few milliseconds. */
const REUSE_MS = 600_000

/** Returns Unix seconds. */
export type ServerTime = () => Promise<number>

/**
 * Creates the time of the database's clock, which all processes share: one with a wrong clock of its own must not date
 * what is stored. Throws as `Database.run`.
 */
export function createServerTime({ db, clock }: { readonly db: Database; readonly clock: Clock }): ServerTime {
  let known: { readonly nowMs: number; readonly atMs: number } | undefined
  return async () => {
    if (known === undefined || clock.monotonicMs() - known.atMs > REUSE_MS) {
      const [row] = await serverTime(db, {})
      if (row === undefined) throw new Error('Cannot read the time of the database: it returned no row')
      known = { nowMs: Number(row.now_ms), atMs: clock.monotonicMs() }
    }
    return (known.nowMs + clock.monotonicMs() - known.atMs) / 1_000
  }
}
