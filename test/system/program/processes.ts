import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Processes that work in a directory, or were started with a path inside it. Needs Linux, or `ps`. */
export async function listProcesses(directory: string): Promise<readonly number[]> {
  if (process.platform === 'linux') return numbers('/proc').filter((pid) => runsInDirectory(pid, directory))
  const child = Bun.spawn(['ps', '-axo', 'pid=,command='], { stdout: 'pipe' })
  const lines = (await new Response(child.stdout).text()).split('\n')
  return lines.filter((line) => line.includes(`${directory}/`)).map((line) => Number.parseInt(line, 10))
}

/** Waits until no process works in the directory; returns those that still do after `limitMs`. */
export async function untilEmpty(directory: string, limitMs: number): Promise<readonly number[]> {
  const deadline = performance.now() + limitMs
  for (;;) {
    const left = await listProcesses(directory)
    if (left.length === 0 || performance.now() > deadline) return left
    await Bun.sleep(50)
  }
}

function numbers(path: string): readonly number[] {
  return readdirSync(path)
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

function runsInDirectory(pid: number, directory: string): boolean {
  try {
    // A zombie has neither: it holds nothing and waits for its parent.
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
    return command.includes(`${directory}/`) || `${readlinkSync(`/proc/${pid}/cwd`)}/`.startsWith(`${directory}/`)
  } catch {
    // It ended meanwhile, or belongs to another user.
    return false
  }
}
