import type { StoredProgress } from '../../history/coverage.ts'
import type { HistoryService } from '../../history/mod.ts'
import type { HistoryProgress } from '../../http/page/probes.ts'
import { groupBy } from '../../lib/group_by.ts'

/** What `/readyz` says about the histories of chains. None of it makes the process unready: live answers need none. */
export function historyProbe(
  history: Pick<HistoryService, 'progress' | 'troubles'>,
): () => Promise<Readonly<Record<string, HistoryProgress>>> {
  return async () => {
    const byChain = groupBy(await history.progress(), ({ place }) => place.chainId)
    const troubles = history.troubles()
    const chainIds = new Set([...byChain.keys(), ...troubles.keys()])
    return Object.fromEntries(
      [...chainIds].map((id) => [id, { ...reportOf(byChain.get(id) ?? []), trouble: troubles.get(id) ?? null }]),
    )
  }
}

function reportOf(stored: readonly StoredProgress[]): Omit<HistoryProgress, 'trouble'> {
  const wanted = stored.reduce((sum, { asked }) => sum + (asked?.wanted ?? 0), 0)
  const missing = stored.reduce((sum, { asked }) => sum + (asked?.missing ?? 0), 0)
  return {
    stopped: stored.some(({ isStopped }) => isStopped),
    percent: wanted === 0 ? null : Math.floor((100 * (wanted - missing)) / wanted),
  }
}
