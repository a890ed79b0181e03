import { type Child, offer } from './child.ts'
import { cpuUs } from './cpu.ts'
import type { LoadJob } from './load.ts'

/** What one burst of load showed; `cpuUs` is that of the server, for one answer. */
export interface Phase {
  readonly answers: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly cpuUs: number
}

/** Offers one burst to the server of this process. Throws if one of its answers is not 200. */
export async function runPhase(generator: Child, pid: number, job: LoadJob): Promise<Phase> {
  const before = cpuUs([pid]) ?? Number.NaN
  const result = await offer(generator, job)
  const after = cpuUs([pid]) ?? Number.NaN
  const all = Object.values(result.statuses).reduce((sum, count) => sum + count, 0)
  if (result.statuses['200'] !== all) throw new Error(`Cannot measure: ${JSON.stringify(result.statuses)}`)
  const perSecond = (result.answers / result.elapsedMs) * 1_000
  return { answers: all, perSecond, p50Ms: result.p50Ms, cpuUs: (after - before) / all }
}
