import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = '/sys/fs/cgroup'
const MB = 1024 * 1024

/** A group of processes that may use so much memory together. */
export interface MemoryLimit {
  /** Puts a command into the group before it starts. */
  wrap(command: readonly string[]): readonly string[]
  /** Processes of the group that the kernel has killed because they needed more. */
  countKills(): number
  /** Call once no process is left. */
  remove(): void
}

/** Files of a group by the kernel's two interfaces: the older one has a tree of groups for each kind of limit. */
const INTERFACES = [
  { line: /^\d+:memory:(.*)$/m, root: join(ROOT, 'memory'), max: 'memory.limit_in_bytes', kills: 'memory.oom_control' },
  { line: /^0::(.*)$/m, root: ROOT, max: 'memory.max', kills: 'memory.events' },
]

/** Makes such a group; undefined where the system lets this process make none. */
export function createMemoryLimit(megabytes: number): MemoryLimit | undefined {
  for (const { line, root, max, kills } of INTERFACES) {
    const own = existsSync('/proc/self/cgroup') ? line.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] : undefined
    if (own === undefined) continue
    const directory = join(root, own, `walletscope_bench_${process.pid}`)
    try {
      mkdirSync(directory)
    } catch {
      continue
    }
    const remove = () => rmdirSync(directory)
    try {
      writeFileSync(join(directory, max), String(megabytes * MB))
    } catch {
      // The group's parent leaves memory to nothing below it.
      remove()
      continue
    }
    const enter = `echo $$ > '${join(directory, 'cgroup.procs')}'; exec "$@"`
    return {
      wrap: (command) => ['sh', '-c', enter, 'sh', ...command],
      countKills: () => Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(directory, kills), 'utf8'))?.[1]),
      remove,
    }
  }
  return undefined
}

/** Memory that a process holds and that no file can give back, megabytes; NaN once it has ended. */
export function readAnonymousMb(pid: number): number {
  try {
    return Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
  } catch {
    return Number.NaN
  }
}
