import type { StoredProgress } from '../../history/coverage.ts'
import type { HistoryReport } from '../../http/plane/probes.ts'

/** What `/readyz` says about the histories of chains. None of it makes the process unready: live answers need none. */
export function historyProbe(
  progress: () => Promise<readonly StoredProgress[]>,
): () => Promise<Readonly<Record<string, HistoryReport>>> {
  return async () => {
    const reports = new Map<number, { stopped: boolean; wanted: number; missing: number }>()
    for (const { place, asked, isStopped } of await progress()) {
      const report = reports.get(place.chainId) ?? { stopped: false, wanted: 0, missing: 0 }
      reports.set(place.chainId, {
        stopped: report.stopped || isStopped,
        wanted: report.wanted + (asked?.wanted ?? 0),
        missing: report.missing + (asked?.missing ?? 0),
      })
    }
    return Object.fromEntries(
      [...reports].map(([chainId, { stopped, wanted, missing }]) => [
        String(chainId),
        { stopped, percent: wanted === 0 ? null : Math.floor((100 * (wanted - missing)) / wanted) },
      ]),
    )
  }
}
