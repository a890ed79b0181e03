import { readdirSync, readFileSync } from 'node:fs'

/** The kernel's clock ticks of `/proc/<pid>/stat` are hundredths of a second on every Linux that Bun runs on. */
const US_PER_TICK = 10_000

/** CPU microseconds that the processes have used so far; undefined if there is no `/proc`. */
export function cpuUs(pids: readonly number[]): number | undefined {
  const used = pids.map(readTicks)
  if (used.some((ticks) => ticks === undefined)) return undefined
  return used.reduce<number>((sum, ticks) => sum + (ticks ?? 0), 0) * US_PER_TICK
}

/** The same of the thread that a process began with. */
export function threadCpuUs(pid: number): number | undefined {
  const ticks = readTicks(`${pid}/task/${pid}`)
  return ticks === undefined ? undefined : ticks * US_PER_TICK
}

/** The process and all that descend from it; only itself if there is no `/proc`. */
export function family(pid: number): readonly number[] {
  const parents = new Map<number, number>()
  try {
    for (const name of readdirSync('/proc')) {
      const parent = /^\d+$/.test(name) ? readStat(Number(name))?.[1] : undefined
      if (parent !== undefined) parents.set(Number(name), Number(parent))
    }
  } catch {
    // Not Linux: CPU figures are left out of the table.
  }
  const found = [pid]
  for (const parent of found) for (const [child, its] of parents) if (its === parent) found.push(child)
  return found
}

/** The postmaster that a backend belongs to; undefined if the server runs elsewhere. */
export function readParent(pid: number): number | undefined {
  const parent = readStat(pid)?.[1]
  return parent === undefined ? undefined : Number(parent)
}

/** A process that ended between listing and reading used what it used; it no longer counts. */
function readTicks(pid: number | string): number | undefined {
  const fields = readStat(pid)
  if (fields === undefined) return undefined
  return Number(fields[11]) + Number(fields[12])
}

/** Fields of `/proc/<pid>/stat`, or of a thread's, after the command's name: state, parent, … */
function readStat(pid: number | string): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
