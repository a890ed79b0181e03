import { untilAborted } from '../lib/async/abort.ts'
import type { Clock } from '../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../lib/error.ts'

/** Days in a group, at first and at most. */
const DAYS = 8
const DAYS_MAX = 64
/** After a search at most this long, milliseconds, the next group is twice as large: the rate limits allow it. */
const QUICK_MS = 750

/** A search for the midnights of a chain. */
interface MidnightSearch {
  readonly chainId: number
  /** In the requested order. */
  readonly days: readonly number[]
  /** Searches the blocks of some days; returns the days that have one, or may have one. */
  find(days: readonly number[]): Promise<readonly number[]>
}

/**
 * Yields days in groups, each once it was searched; all remaining days in one group if a search throws
 * `UnavailableError` or `UpstreamError`. Throws other errors of a search, and `AbortedError` if `signal` fires. One
 * search runs per chain, because an earlier one may find the same blocks.
 */
export function createMidnightGroups(clock: Clock) {
  /** By chain, the end of the last search. */
  const ends = new Map<number, Promise<unknown>>()

  async function runInTurn<T>(chainId: number, run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const running = (ends.get(chainId) ?? Promise.resolve()).then(run)
    const end = running.catch(() => {})
    ends.set(chainId, end)
    void end.then(() => {
      if (ends.get(chainId) === end) ends.delete(chainId)
    })
    return await untilAborted(running, signal)
  }

  return async function* iterateGroups(
    { chainId, days, find }: MidnightSearch,
    signal: AbortSignal,
  ): AsyncGenerator<readonly number[]> {
    let size = DAYS
    for (let offset = 0; offset < days.length; ) {
      const group = days.slice(offset, offset + size)
      const startedMs = clock.monotonicMs()
      let foundDays: readonly number[]
      try {
        foundDays = await runInTurn(chainId, () => find(group), signal)
      } catch (error) {
        if (!(error instanceof UnavailableError || error instanceof UpstreamError)) throw error
        // The caller then reads the days one by one, which isolates the failing day.
        yield days.slice(offset)
        return
      }
      yield foundDays
      offset += group.length
      if (clock.monotonicMs() - startedMs < QUICK_MS) size = Math.min(DAYS_MAX, 2 * size)
    }
  }
}
