import { readdirSync, readFileSync } from 'node:fs'

export interface Process {
  readonly pid: number
  readonly parentPid: number
  readonly state: string
  /** Program and arguments. */
  readonly command: string
}

/** Everything that a process started, and what they started in turn. */
export function descendants(pid: number): readonly Process[] {
  const all = list()
  const below = (parentPid: number): Process[] =>
    all.filter((one) => one.parentPid === parentPid).flatMap((one) => [one, ...below(one.pid)])
  return below(pid)
}

/** The process that started another one, the one that started that, and so on. */
export function ancestors(pid: number): readonly Process[] {
  const all = new Map(list().map((one) => [one.pid, one]))
  const above: Process[] = []
  for (let one = all.get(all.get(pid)?.parentPid ?? 0); one !== undefined; one = all.get(one.parentPid)) above.push(one)
  return above
}

/** Those of the processes that still run after `limitMs`. A zombie, which only waits for its parent to look, does not. */
export async function stillRunning(pids: readonly number[], limitMs: number): Promise<readonly number[]> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const running = list().filter(({ pid, state }) => pids.includes(pid) && state !== 'Z')
    if (running.length === 0 || performance.now() > deadline) return running.map(({ pid }) => pid)
    await Bun.sleep(10)
  }
}

/** Every process of the machine. On Linux from /proc, because small images lack `ps`. */
function list(): readonly Process[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap(readProcess)
  }
  const lines = Bun.spawnSync(['ps', '-axo', 'pid=,ppid=,stat=,command=']).stdout.toString().trim().split('\n')
  return lines.map((line) => toProcess(line.trim().split(/\s+/)))
}

function readProcess(pid: string): Process[] {
  try {
    // The name before the last bracket may hold spaces; state and parent come behind it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, parentPid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
    return [toProcess([pid, parentPid, state, command])]
  } catch {
    // It ended meanwhile.
    return []
  }
}

function toProcess([pid, parentPid, state = '', ...command]: readonly (string | undefined)[]): Process {
  return { pid: Number(pid), parentPid: Number(parentPid), state: state.slice(0, 1), command: command.join(' ') }
}
