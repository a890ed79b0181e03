/**
 * `bun run test [--all] [files and options of "bun test"]`: the tests by tier, in several processes, which share one
 * PostgreSQL server and one directory for everything temporary. Both are gone afterwards, also if the run is
 * interrupted; of a run that is killed, the next one removes the directory.
 *
 * Without names it runs `unit` (in its process alone), `contract` (chains and PostgreSQL) and six files of `system` (the
 * program, processes, browsers), of which two run at once; with `--all`, all of them, one at a time. Names are parts of
 * paths, of any tier. A file that fails once has failed; `test/quarantine.txt` names those that are left out.
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
import { Glob } from 'bun'
import { KEPT_MEMORY } from './allocators.ts'
import { IS_FULL } from './cases.ts'
import { openTestServer, sweep } from './database.ts'
import { formatFailures, listStrayErrors } from './failures.ts'

const ROOT = join(import.meta.dir, '../..')
/** How long each file took on this machine: the longest begin first. */
const TIMINGS = join(ROOT, '.cache/timings.json')
/** Files in memory, because the tests keep none of them. */
const MEMORY = '/dev/shm'
const MEMORY_BYTES_MIN = 4 * 2 ** 30
/** Short, because names of sockets begin with it. */
const PREFIX = 'wst-'
/** Files of a tier that run at once. Those of `system` in README's command mostly wait for what they start. */
const WORKERS = {
  unit: Math.min(8, availableParallelism() + 2),
  contract: Math.min(8, 2 * availableParallelism() + 2),
  system: process.argv.includes('--all') ? 1 : 2,
} as const
/**
 * Test processes live too short for the last optimizing compiler of JavaScriptCore to pay off: without it they take a
 * tenth less work. The long loops of `SEEDS=full` are faster with it. Services that tests start have an environment of their own.
 */
const COMPILERS: Readonly<Record<string, string>> = IS_FULL ? {} : { BUN_JSC_useFTLJIT: '0' }
/** Many times what all tests say. */
const SAID_MAX = 2 ** 25
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const TIERS = ['unit', 'contract', 'system'] as const
/** The files of `system` whose failure a user would meet first: the API, commands, start and end, agents, pages, crashes. */
const SMOKE = ['scenario', 'command', 'lifecycle', 'clients']
  .map((name) => `test/system/program/${name}_test.ts`)
  .concat('test/system/browser/explore_test.ts', 'test/system/account/gate/crash_test.ts')
/** Options of `bun test` whose value is the next word. */
const TAKES_VALUE = ['-t']

/** What a tier's run left. */
interface TierRun {
  readonly tier: (typeof TIERS)[number]
  readonly files: number
  readonly status: number
  readonly pass: number
  readonly fail: number
  readonly wallSec: number
  readonly cpuSec: number
  /** What failed and why; empty if nothing did. */
  readonly failures: string
}

const { files, options } = chooseFiles(process.argv.slice(2))
const directory = temporaryHome()
process.env['TMPDIR'] = directory
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const server = await openTestServer()
let signal: NodeJS.Signals | undefined
for (const each of SIGNALS)
  process.on(each, () => {
    signal = each
  })
const runs: TierRun[] = []
for (const tier of TIERS) {
  const chosen = files.filter((file) => file.startsWith(`test/${tier}/`))
  if (chosen.length > 0 && signal === undefined) runs.push(await runTier(tier, chosen))
}
await server.close()
console.error(summarize(runs))
process.exit(signal === undefined ? Math.max(...runs.map(({ status }) => status)) : 1)

/** Splits the words of the command into files, which are those of README's command if no word is a name, and options. */
function chooseFiles(words: readonly string[]): { readonly files: readonly string[]; readonly options: string[] } {
  const quarantined = readQuarantine()
  const tests = [...new Glob('test/{unit,contract,system}/**/*_test.ts').scanSync(ROOT)].sort()
  const isOption = (word: string, index: number) => word.startsWith('-') || TAKES_VALUE.includes(words[index - 1] ?? '')
  const names = words.filter((word, index) => !isOption(word, index)).map((word) => word.replace(/^\.\//, ''))
  const options = words.filter((word, index) => isOption(word, index) && word !== '--all')
  for (const name of names) {
    if (!tests.some((file) => file.includes(name)))
      throw new Error(`Cannot run tests of "${name}": no path of a file test/**/*_test.ts contains it`)
  }
  const files = tests.filter((file) => {
    if (names.length > 0) return names.some((name) => file.includes(name))
    if (quarantined.has(file)) return false
    return words.includes('--all') || !file.startsWith('test/system/') || SMOKE.includes(file)
  })
  return { files, options }
}

/** Paths of tests that are left out: a line each, with a reason behind `#`. */
function readQuarantine(): ReadonlySet<string> {
  const lines = readFileSync(join(ROOT, 'test/quarantine.txt'), 'utf8').split('\n')
  const paths = lines.map((line) => line.replace(/#.*/, '').trim()).filter((path) => path !== '')
  for (const path of paths) console.error(`In quarantine, not run: ${path}`)
  return new Set(paths)
}

/** Runs the files of a tier and shows their output. */
async function runTier(tier: TierRun['tier'], chosen: readonly string[]): Promise<TierRun> {
  const report = join(directory, `${tier}.xml`)
  const beginMs = performance.now()
  const child = Bun.spawn(
    [
      ...[process.execPath, 'test', '--no-orphans', '--timeout=60000', '--no-isolate'],
      `--parallel=${WORKERS[tier]}`,
      ...[`--timings=${TIMINGS}`, '--update-timings', '--reporter=junit', `--reporter-outfile=${report}`],
      ...[...options, ...chosen.map((file) => `./${file}`)],
    ],
    {
      cwd: ROOT,
      env: { ...KEPT_MEMORY, ...COMPILERS, ...process.env, ...server.environment },
      stdio: ['inherit', 'inherit', 'pipe'],
    },
  )
  const stop = () => child.kill('SIGTERM')
  for (const each of SIGNALS) process.on(each, stop)
  let said = ''
  for await (const chunk of child.stderr.pipeThrough(new TextDecoderStream())) {
    process.stderr.write(chunk)
    said = `${said}${chunk}`.slice(-SAID_MAX)
  }
  const status = await child.exited
  for (const each of SIGNALS) process.off(each, stop)
  const count = (name: string) => Number([...said.matchAll(new RegExp(`^ *(\\d+) ${name}$`, 'gm'))].at(-1)?.[1] ?? 0)
  const failures = status === 0 ? [] : [formatFailures(readIfAny(report)), ...listStrayErrors(said)].filter(Boolean)
  return {
    tier,
    files: chosen.length,
    status,
    pass: count('pass'),
    fail: count('fail'),
    wallSec: (performance.now() - beginMs) / 1_000,
    cpuSec: Number(child.resourceUsage()?.cpuTime.total ?? 0n) / 1e6,
    failures: failures.join('\n\n'),
  }
}

/** Says what failed, below all that passed, and what each tier took. The last lines have the form of `bun test`. */
function summarize(done: readonly TierRun[]): string {
  const rows = done.map(({ tier, files: count, pass, fail, wallSec, cpuSec }) => [
    tier.padEnd(8),
    `${count} files, ${pass + fail} tests, ${Math.round(wallSec)} s, ${Math.round(cpuSec)} CPU seconds`,
  ])
  const sum = (key: 'pass' | 'fail') => done.reduce((total, run) => total + run[key], 0)
  const failures = done.flatMap((run) => (run.failures === '' ? [] : ['', run.failures]))
  return [...failures, '', ...rows, '', ` ${sum('pass')} pass`, ` ${sum('fail')} fail`].join('\n')
}

function readIfAny(path: string): string {
  return existsSync(path) ? readFileSync(path, 'utf8') : ''
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
