import type { StoredProgress } from '../../history/coverage.ts'
import type { HistoryService } from '../../history/mod.ts'
import type { HistoryProgress } from '../../http/page/probes.ts'
import { groupBy } from '../../lib/group_by.ts'

/** Reports the histories of chains to `/readyz`. Readiness does not depend on them: live answers need no history. */
export function historyProbe(
  history: Pick<HistoryService, 'listProgress' | 'getIssues'>,
): () => Promise<Readonly<Record<string, HistoryProgress>>> {
  return async () => {
    const byChain = groupBy(await history.listProgress(), ({ target }) => target.chainId)
    const troubles = history.getIssues()
    const chainIds = new Set([...byChain.keys(), ...troubles.keys()])
    return Object.fromEntries(
      [...chainIds].map((id) => [id, { ...toReport(byChain.get(id) ?? []), trouble: troubles.get(id) ?? null }]),
    )
  }
}

function toReport(stored: readonly StoredProgress[]): Omit<HistoryProgress, 'trouble'> {
  const requested = stored.reduce((sum, { requested: asked }) => sum + (asked?.blocks ?? 0), 0)
  const missing = stored.reduce((sum, { requested: asked }) => sum + (asked?.missing ?? 0), 0)
  return {
    stopped: stored.some(({ isStopped }) => isStopped),
    percent: requested === 0 ? null : Math.floor((100 * (requested - missing)) / requested),
  }
}
