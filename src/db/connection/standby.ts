import { setTimeout as pause } from 'node:timers/promises'
import { standbyFence, standbyProgress } from '../../../sql/queries.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Log, logThrottled } from '../../lib/log.ts'
import type { Database } from '../database.ts'
import { type DatabasePool, DEADLINE_DEFAULT_MS } from './pool.ts'

export type StandbyPool = ReturnType<typeof withStandby>

/** Longest wait for each question to either server. */
const ASK_MS = 250
/** How long a statement waits for the standby to catch up; after that the primary is asked. */
const CATCH_UP_MS = 100
const LOOK_MS = 5
/** How long a standby that failed is left alone. */
const AGAIN_MS = 1_000
const AWAY = { answers: false, lag_bytes: null, lag_seconds: null }

/**
 * Sends statements of lane `copy` to a standby, and all others to the primary. The standby is asked once it has replayed
 * all that the primary had written when the statement came, so that nobody reads less than he was shown before. If it is
 * away, too far behind, or ends the statement, the primary answers within what is left of the deadline, half at least.
 */
export function withStandby(
  { primary, standby }: { readonly primary: DatabasePool; readonly standby: DatabasePool },
  { clock, log }: { readonly clock: Clock; readonly log: Log },
) {
  let againMs = Number.NEGATIVE_INFINITY

  /** How far the standby is behind what the primary has written by now; undefined if it is none of that primary. */
  async function progress() {
    const [fence] = await standbyFence(primary, {}, { deadlineMs: ASK_MS })
    if (fence === undefined) return undefined
    const look = async () => {
      const [row] = await standbyProgress(standby, fence, { deadlineMs: ASK_MS })
      return row?.is_copy ? row : undefined
    }
    return { look, first: await look() }
  }

  function leave(reason: string): void {
    againMs = clock.monotonicMs() + AGAIN_MS
    logThrottled(log, { level: 'warn', kind: 'standby lost' }, { msg: 'Left the standby to itself', reason })
  }

  /** True once the standby has all that the primary had at the call. */
  async function caughtUp(): Promise<boolean> {
    const untilMs = clock.monotonicMs() + CATCH_UP_MS
    const found = await progress()
    for (let at = found?.first; at !== undefined; at = await found?.look()) {
      if (at.behind_bytes <= 0) return true
      if (clock.monotonicMs() >= untilMs) {
        leave('it is too far behind')
        return false
      }
      await pause(LOOK_MS)
    }
    leave('it is not a standby of this primary')
    return false
  }

  async function run<Row extends object>(
    text: string,
    params: Parameters<Database['run']>[1],
    options: NonNullable<Parameters<Database['run']>[2]> = {},
  ): Promise<readonly Row[]> {
    const { lane, deadlineMs = DEADLINE_DEFAULT_MS } = options
    if (lane !== 'copy' || clock.monotonicMs() < againMs) return primary.run<Row>(text, params, options)
    const sentMs = clock.monotonicMs()
    const leftMs = () => Math.max(1, deadlineMs - (clock.monotonicMs() - sentMs))
    try {
      if (await caughtUp()) {
        const half = Math.max(1, leftMs() - deadlineMs / 2)
        return await standby.run<Row>(text, params, { lane, deadlineMs: half })
      }
    } catch (error) {
      // The primary may be what is away; it then says so itself.
      leave(error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error))
    }
    return primary.run<Row>(text, params, { lane, deadlineMs: leftMs() })
  }

  return {
    run,
    report: primary.report,
    /** How the standby does: what it has yet to replay, and since when. It is away if it is none of the primary any more. */
    async state() {
      try {
        const found = await progress()
        if (found?.first === undefined) return AWAY
        const { behind_bytes: bytes, replayed_sec: seconds } = found.first
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
