/**
 * `bun run test [files and options of "bun test"]`: the tests in several processes, which share one PostgreSQL server
 * and one directory for everything temporary. Both are gone afterwards, also if the run is interrupted; of a run that
 * is killed, the next one removes the directory.
 */
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { KEPT_MEMORY } from './allocators.ts'
import { openTestServer, sweep } from './database.ts'
import { formatFailures, listFailedFiles, listStrayErrors } from './failures.ts'

const ROOT = join(import.meta.dir, '../..')
/** How long each file took on this machine: the longest begin first. */
const TIMINGS = join(ROOT, '.cache/timings.json')
/** Files in memory, because the tests keep none of them. */
const MEMORY = '/dev/shm'
const MEMORY_BYTES_MIN = 4 * 2 ** 30
/** Short, because names of sockets begin with it. */
const PREFIX = 'wst-'
/** Tests wait for much that is not work: two more than there are cores. More would be late for what they time. */
const WORKERS = Math.min(8, availableParallelism() + 2)
/** More files than these do not fail by chance, even beside other work of the machine. */
const AGAIN_MAX = 16
/** Many times what all tests say. */
const SAID_MAX = 2 ** 25
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** The tests are to end: nothing is run again. */
let isStopped = false

const directory = temporaryHome()
process.env['TMPDIR'] = directory
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const server = await openTestServer()
const status = await runTests(process.argv.slice(2), server.environment)
await server.close()
process.exit(status)

/**
 * All at once, then what failed once more and alone: what only fails beside others is named, and is not a failure. Errors
 * outside of tests are what is left of tests that failed, if any did. Returns the exit status.
 */
async function runTests(words: readonly string[], environment: Readonly<Record<string, string>>): Promise<number> {
  const beside = [`--parallel=${WORKERS}`, '--no-isolate', `--timings=${TIMINGS}`, '--update-timings', ...words]
  const first = await runOnce(beside, environment)
  if (first.status === 0) return 0
  const files = listFailedFiles(first)
  if (files.length === 0 || files.length > AGAIN_MAX) {
    console.error([formatFailures(first.report), ...listStrayErrors(first.said)].join('\n\n'))
    return first.status
  }
  console.error(`${formatFailures(first.report)}\n\nThe same files, each alone:\n`)
  let fail = 0
  let status = 0
  for (const file of files) {
    const again = await runOnce([`./${file}`], environment)
    if (isStopped) return again.status
    if (again.status === 0) console.error(`Failed beside others, and holds alone: ${file}\n`)
    else console.error([formatFailures(again.report), ...listStrayErrors(again.said)].join('\n\n'))
    fail += again.counts.fail
    status ||= again.status
  }
  console.error(`\n ${first.counts.pass + first.counts.fail - fail} pass\n ${fail} fail`)
  return status
}

/** Runs `bun test`, shows its output, and returns its counts. */
async function runOnce(words: readonly string[], environment: Readonly<Record<string, string>>) {
  const report = join(directory, 'report.xml')
  rmSync(report, { force: true })
  const child = Bun.spawn(
    [
      ...[process.execPath, 'test', '--no-orphans', '--timeout=60000'],
      ...['--reporter=junit', `--reporter-outfile=${report}`, ...words],
    ],
    { cwd: ROOT, env: { ...KEPT_MEMORY, ...process.env, ...environment }, stdio: ['inherit', 'inherit', 'pipe'] },
  )
  const pass = () => {
    isStopped = true
    child.kill('SIGTERM')
  }
  for (const signal of SIGNALS) process.on(signal, pass)
  let said = ''
  for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
    process.stderr.write(chunk)
    said = `${said}${chunk}`.slice(-SAID_MAX)
  }
  const status = await child.exited
  for (const signal of SIGNALS) process.off(signal, pass)
  const count = (name: string) => Number([...said.matchAll(new RegExp(`^ *(\\d+) ${name}$`, 'gm'))].at(-1)?.[1] ?? 0)
  const counts = { pass: count('pass'), fail: count('fail') }
  return { root: ROOT, status, counts, said, report: existsSync(report) ? readFileSync(report, 'utf8') : '' }
}

function temporaryHome(): string {
  mkdirSync(join(TIMINGS, '..'), { recursive: true })
  const parent = takesPrograms(MEMORY) ? MEMORY : tmpdir()
  sweep(parent, PREFIX)
  const path = mkdtempSync(join(parent, `${PREFIX}${process.pid}-`))
  // All users may create files in it, as in every temporary directory: some tests run as other users.
  chmodSync(path, 0o1777)
  return path
}

/** True for a directory with enough room in which programs may run; containers often forbid that. */
function takesPrograms(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    const { bavail, bsize } = statfsSync(path)
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' '))
      .findLast(([, at]) => at === path)
    return bavail * bsize >= MEMORY_BYTES_MIN && mount?.[3]?.split(',').includes('noexec') === false
  } catch {
    return false
  }
}
