import { standbyFence, standbyProgress } from '../../../sql/queries.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Log, logThrottled } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import { type DatabasePool, DEADLINE_DEFAULT_MS } from './pool.ts'

export type StandbyPool = ReturnType<typeof withStandby>

/** Deadline of each position query to either server. */
const QUERY_TIMEOUT_MS = 250
/** How long a statement waits for the standby to catch up before it goes to the primary. */
const CATCH_UP_MS = 100
const POLL_MS = 5
/** How long a failed standby is not used. */
const RETRY_AFTER_MS = 1_000
const AWAY = { answers: false, lag_bytes: null, lag_seconds: null }

/**
 * Sends statements of lane `copy` to a standby, and all others to the primary. Wait until the standby has replayed the
 * primary's position at arrival, so reads never go backwards. If the standby is unreachable, lags too far, or cancels
 * the statement, the primary runs it within the rest of the deadline, at least half of it.
 */
export function withStandby(
  { primary, standby }: { readonly primary: DatabasePool; readonly standby: DatabasePool },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
) {
  let retryAtMs = Number.NEGATIVE_INFINITY

  /** Reads how far the standby is behind the primary's current position; undefined if it is not its standby. */
  async function readProgress() {
    const [fence] = await standbyFence(primary, {}, { deadlineMs: QUERY_TIMEOUT_MS })
    if (fence === undefined) return undefined
    const look = async () => {
      const [row] = await standbyProgress(standby, fence, { deadlineMs: QUERY_TIMEOUT_MS })
      return row?.is_copy ? row : undefined
    }
    return { look, first: await look() }
  }

  function suspendStandby(reason: string): void {
    retryAtMs = clock.monotonicMs() + RETRY_AFTER_MS
    logThrottled(
      log,
      { level: 'warn', kind: 'standby lost', clock },
      { msg: 'Stopped reading from the standby', reason },
    )
  }

  /** True once the standby has replayed the primary's position at the call. */
  async function waitUntilCaughtUp(): Promise<boolean> {
    const untilMs = clock.monotonicMs() + CATCH_UP_MS
    const progress = await readProgress()
    for (let row = progress?.first; row !== undefined; row = await progress?.look()) {
      if (row.behind_bytes <= 0) return true
      if (clock.monotonicMs() >= untilMs) {
        suspendStandby('it is too far behind')
        return false
      }
      await clock.sleep(POLL_MS)
    }
    suspendStandby('it is not a standby of this primary')
    return false
  }

  async function run<Row extends object>(
    text: string,
    params: Parameters<Database['run']>[1],
    options: NonNullable<Parameters<Database['run']>[2]> = {},
  ): Promise<readonly Row[]> {
    const { lane, deadlineMs = DEADLINE_DEFAULT_MS } = options
    if (lane !== 'copy' || clock.monotonicMs() < retryAtMs) return primary.run<Row>(text, params, options)
    const sentMs = clock.monotonicMs()
    const leftMs = () => Math.max(1, deadlineMs - (clock.monotonicMs() - sentMs))
    try {
      if (await waitUntilCaughtUp()) {
        const half = Math.max(1, leftMs() - deadlineMs / 2)
        return await standby.run<Row>(text, params, { lane, deadlineMs: half })
      }
    } catch (error) {
      // If the primary is the unreachable one, its own error follows.
      suspendStandby(error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error))
    }
    return primary.run<Row>(text, params, { lane, deadlineMs: leftMs() })
  }

  return {
    run,
    report: primary.report,
    findShortages: primary.findShortages,
    /** The standby's lag in bytes and seconds; `answers` is false if it is unreachable or no longer of this primary. */
    async state() {
      try {
        const progress = await readProgress()
        if (progress?.first === undefined) return AWAY
        const { behind_bytes: bytes, replayed_sec: seconds } = progress.first
        return { answers: true, lag_bytes: Math.max(0, bytes), lag_seconds: bytes <= 0 ? 0 : seconds }
      } catch {
        return AWAY
      }
    },
    async close() {
      await Promise.all([primary.close(), standby.close()])
    },
  }
}
