import { readdirSync, readFileSync } from 'node:fs'

/** CPU microseconds that the processes have used so far; undefined where there is no `/proc`. */
export function cpuUs(pids: readonly number[]): number | undefined {
  let sum = 0
  for (const pid of pids) {
    const used = threadsOf(pid)?.map((thread) => threadUs(`${pid}/task/${thread}`) ?? 0)
    if (used === undefined) return undefined
    sum += used.reduce((all, each) => all + each, 0)
  }
  return sum
}

/** The same of the thread that a process began with. */
export function threadCpuUs(pid: number): number | undefined {
  return threadUs(`${pid}/task/${pid}`)
}

/** The process and all that descend from it; only itself where there is no `/proc`. */
export function family(pid: number): readonly number[] {
  const parents = new Map<number, number>()
  try {
    for (const name of readdirSync('/proc')) {
      const parent = /^\d+$/.test(name) ? statOf(Number(name))?.[1] : undefined
      if (parent !== undefined) parents.set(Number(name), Number(parent))
    }
  } catch {
    // Not Linux: CPU figures are left out of the table.
  }
  const found = [pid]
  for (const parent of found) for (const [child, its] of parents) if (its === parent) found.push(child)
  return found
}

/** The postmaster that a backend belongs to; undefined where the server runs elsewhere. */
export function parentOf(pid: number): number | undefined {
  const parent = statOf(pid)?.[1]
  return parent === undefined ? undefined : Number(parent)
}

function threadsOf(pid: number): readonly string[] | undefined {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch {
    return undefined
  }
}

/** By `schedstat`, which counts nanoseconds: `stat` counts hundredths of a second, a tenth of what a burst uses. */
function threadUs(thread: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/${thread}/schedstat`, 'latin1').split(' ')[0]) / 1_000
  } catch {
    return undefined
  }
}

/** Fields of `/proc/<pid>/stat` after the command's name: state, parent, … */
function statOf(pid: number): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
