import { readFileSync, statSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../src/db/embedded/embedded.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { silentLog } from '../../src/lib/log.ts'
import { buildWhatIsStale } from '../system/program/builds.ts'
import { executableProgram, type Program, spawnService } from '../system/program/program.ts'
import { cpuUs, family } from './cpu.ts'
import { median, printNote, printTable } from './table.ts'

/** Goals: times PostgreSQL's own start, megabytes and percent of a core of the whole family of processes. */
const WARM_START_MAX = 2
const IDLE_MB_MAX = 105
const IDLE_CPU_MAX = 0.3
/** What tests let programs keep, operators do not. */
const AS_OPERATORS = 'unset MIMALLOC_PURGE_DELAY _RJEM_MALLOC_CONF; exec "$@"'
const EXECUTABLE = join(import.meta.dir, '../../dist/walletscope')

/**
 * Measures what the executable takes before any request, with its own configuration: its size, the CPU of its
 * short commands, its first and its warm start beside the start of the PostgreSQL inside alone, and memory and CPU of an
 * idle service with its database.
 */
export async function benchFootprint({ quick }: { readonly quick: boolean }): Promise<void> {
  await buildWhatIsStale()
  const program = executableProgram({ PATH: process.env['PATH'] ?? '' })
  try {
    const serving = { ...program, serve: ['sh', '-c', AS_OPERATORS, 'sh', ...program.serve] }
    const firstMs = await measureStart(serving)
    const own: number[] = []
    const warm: number[] = []
    for (let round = 0; round < (quick ? 3 : 11); round++) {
      own.push(await measurePostgres(program))
      warm.push(await measureStart(serving))
    }
    const ratio = median(warm) / median(own)
    const idle = await measureIdle(serving, quick ? 5_000 : 60_000)
    const version = measureCommand([...program.command, '--version'])
    const help = measureCommand([...program.command, 'org', 'list', '--help'])
    const rows = [
      ['executable, MB', (statSync(EXECUTABLE).size / 1e6).toFixed(1), ''],
      ['--version, ms of CPU', version.toFixed(0), ''],
      ['org list --help, ms of CPU', help.toFixed(0), ''],
      ['first start, ms', firstMs.toFixed(0), ''],
      ['PostgreSQL alone, warm, ms', median(own).toFixed(0), ''],
      ['warm start, ms', median(warm).toFixed(0), ''],
      ['warm start ÷ PostgreSQL alone', ratio.toFixed(2), judge(ratio, WARM_START_MAX)],
      ['idle memory, MB', idle.mb.toFixed(0), judge(idle.mb, IDLE_MB_MAX)],
      ['idle CPU, % of a core', idle.cpuPercent.toFixed(2), judge(idle.cpuPercent, IDLE_CPU_MAX)],
    ]
    printTable(['footprint', 'measured', 'goal'], rows)
    const load = loadavg().map((each) => each.toFixed(1))
    printNote(
      `medians; all chains of the default configuration, whose endpoints may not be there; memory: proportional set size with PostgreSQL's; load average ${load.join(' ')}`,
    )
  } finally {
    program.remove()
  }
}

function judge(value: number, max: number): string {
  return `${max} ${value <= max ? 'met' : 'MISSED'}`
}

/** Milliseconds from the start of the service to its listening. */
async function measureStart(program: Program): Promise<number> {
  const startedMs = performance.now()
  const service = await spawnService(program)
  const tookMs = performance.now() - startedMs
  await service.stop()
  return tookMs
}

/** The same of the PostgreSQL of the program's data directory, until it answers. */
async function measurePostgres({ directory }: Program): Promise<number> {
  const startedMs = performance.now()
  const server = await startEmbedded({ dataDir: join(directory, 'data'), clock: systemClock, log: silentLog })
  const tookMs = performance.now() - startedMs
  await server.close()
  return tookMs
}

/** Memory and CPU of a service and its database without requests for `ms`, after as long to settle. */
async function measureIdle(program: Program, ms: number) {
  const service = await spawnService(program)
  try {
    await Bun.sleep(ms)
    const before = cpuUs(family(service.pid)) ?? Number.NaN
    await Bun.sleep(ms)
    const pids = family(service.pid)
    const usedUs = (cpuUs(pids) ?? Number.NaN) - before
    const mb = pids.reduce((sum, pid) => sum + readPssMb(pid), 0)
    return { mb, cpuPercent: usedUs / 10 / ms }
  } finally {
    await service.stop()
  }
}

/** Memory of a process, each shared page by the part that is its own; NaN without `/proc`. */
function readPssMb(pid: number): number {
  try {
    const kb = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))?.[1]
    return Number(kb) / 1_000
  } catch {
    // It has ended meanwhile, or this is not Linux.
    return Number.NaN
  }
}

/** Milliseconds of CPU of a command, the least of some runs. */
function measureCommand(command: readonly string[]): number {
  const used = Array.from({ length: 9 }, () => {
    const { resourceUsage } = Bun.spawnSync([...command], { stdout: 'ignore', stderr: 'ignore' })
    return Number(resourceUsage?.cpuTime.total) / 1_000
  })
  return Math.min(...used)
}
