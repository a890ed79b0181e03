import type { Clock } from '../../lib/clock.ts'
import { PendingError, UnavailableError } from '../../lib/error.ts'

/** Issues older than this are not reported, milliseconds. */
const REPORTED_MS = 600_000

/** Creates the record of why histories of chains fail, for the operator. */
export function createHistoryIssues(clock: Clock) {
  const issuesByChain = new Map<number, { readonly message: string; readonly atMs: number }>()

  return {
    /** Records why a request about a chain fails, until one succeeds. A pending history is no failure. */
    async watch<T>(chainId: number, read: () => Promise<T>): Promise<T> {
      try {
        const answer = await read()
        issuesByChain.delete(chainId)
        return answer
      } catch (error) {
        if (error instanceof UnavailableError && !(error instanceof PendingError)) {
          issuesByChain.set(chainId, { message: error.message, atMs: clock.monotonicMs() })
        }
        throw error
      }
    },
    /** The last recent issue of each chain. */
    listRecent(): ReadonlyMap<number, string> {
      const recentIssues = [...issuesByChain].filter(([, { atMs }]) => clock.monotonicMs() - atMs < REPORTED_MS)
      return new Map(recentIssues.map(([chainId, { message }]) => [chainId, message]))
    },
  }
}
