import { untilAborted } from '../lib/async/abort.ts'
import type { Clock } from '../lib/clock.ts'
import { UnavailableError, UpstreamError } from '../lib/error.ts'

/** Days in a group, at first and at most. */
const DAYS = 8
const DAYS_MAX = 64
/** After a search as quick as this, milliseconds, the next group is twice as large: endpoints and our own rate allow it. */
const QUICK_MS = 750

/** Looks for the midnights of a chain. */
interface MidnightSearch {
  readonly chainId: number
  /** In the order in which they are wanted. */
  readonly days: readonly number[]
  /** Finds the blocks of some of them, as far as it can; returns those that have one, or may have. */
  find(days: readonly number[]): Promise<readonly number[]>
}

/**
 * Gives days in groups, each once it was looked for; all that is left in one group if a search throws `UnavailableError`
 * or `UpstreamError`. Throws what else a search throws, and `AbortedError` if `signal` fires. A chain is searched for one
 * group at a time: those before may find what is wanted.
 */
export function createMidnightGroups(clock: Clock) {
  /** By chain, the end of the last search. */
  const ends = new Map<number, Promise<unknown>>()

  async function inTurn<T>(chainId: number, run: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const running = (ends.get(chainId) ?? Promise.resolve()).then(run)
    const end = running.catch(() => {})
    ends.set(chainId, end)
    void end.then(() => {
      if (ends.get(chainId) === end) ends.delete(chainId)
    })
    return await untilAborted(running, signal)
  }

  return async function* inGroups(
    { chainId, days, find }: MidnightSearch,
    signal: AbortSignal,
  ): AsyncGenerator<readonly number[]> {
    let size = DAYS
    for (let at = 0; at < days.length; ) {
      const group = days.slice(at, at + size)
      const startedMs = clock.monotonicMs()
      let found: readonly number[]
      try {
        found = await inTurn(chainId, () => find(group), signal)
      } catch (error) {
        if (!(error instanceof UnavailableError || error instanceof UpstreamError)) throw error
        // One by one it shows which of them is to blame.
        yield days.slice(at)
        return
      }
      yield found
      at += group.length
      if (clock.monotonicMs() - startedMs < QUICK_MS) size = Math.min(DAYS_MAX, 2 * size)
    }
  }
}
