import type { StoredProgress } from '../../history/coverage.ts'
import type { HistoryReport } from '../../http/plane/probes.ts'
import { grouped } from '../../lib/grouped.ts'

/** What `/readyz` says about the histories of chains. None of it makes the process unready: live answers need none. */
export function historyProbe(
  progress: () => Promise<readonly StoredProgress[]>,
): () => Promise<Readonly<Record<string, HistoryReport>>> {
  return async () => {
    const byChain = grouped(await progress(), ({ place }) => place.chainId)
    return Object.fromEntries([...byChain].map(([chainId, stored]) => [chainId, reportOf(stored)]))
  }
}

function reportOf(stored: readonly StoredProgress[]): HistoryReport {
  const wanted = stored.reduce((sum, { asked }) => sum + (asked?.wanted ?? 0), 0)
  const missing = stored.reduce((sum, { asked }) => sum + (asked?.missing ?? 0), 0)
  return {
    stopped: stored.some(({ isStopped }) => isStopped),
    percent: wanted === 0 ? null : Math.floor((100 * (wanted - missing)) / wanted),
  }
}
