import type { Clock } from '../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../lib/error.ts'

/** What happened longer ago than this is not told any more, milliseconds. */
const REPORTED_MS = 600_000

/** Why histories of chains cannot go on, for whoever watches the process. */
export function createHistoryIssues(clock: Clock) {
  const troubles = new Map<number, { readonly message: string; readonly atMs: number }>()

  return {
    /** Notes why a question about a chain fails, until one succeeds; that it takes time is not a failure. */
    async watch<T>(chainId: number, ask: () => Promise<T>): Promise<T> {
      try {
        const answer = await ask()
        troubles.delete(chainId)
        return answer
      } catch (error) {
        if (error instanceof UnavailableError && !(error instanceof PendingError)) {
          troubles.set(chainId, { message: error.message, atMs: clock.monotonicMs() })
        }
        throw error
      }
    },
    /** The last trouble of each chain, unless it was long ago. */
    recent(): ReadonlyMap<number, string> {
      const recent = [...troubles].filter(([, { atMs }]) => clock.monotonicMs() - atMs < REPORTED_MS)
      return new Map(recent.map(([chainId, { message }]) => [chainId, message]))
    },
  }
}
