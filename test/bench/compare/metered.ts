import { join } from 'node:path'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { type Child, createChildGroup, offer } from '../child.ts'
import { cpuUs, family } from '../cpu.ts'
import { CONSTANT_PATH, type OursReady } from '../metered.ts'
import { median, printNote, printTable } from '../table.ts'
import { type Version, versions } from './versions.ts'

/** Organizations × connections. */
const CELLS = [
  [1, 1],
  [1, 64],
  [1, 256],
  [1_000, 64],
  [1_000, 256],
] as const
const ORGANIZATIONS_MAX = 1_000
/** How often both versions are started: one process differs from the next by up to a tenth for all of its life. */
const STARTS = 4
/** Phases of each version and cell after a start. */
const ROUNDS = 3
const PHASE_MS = 350
/** A service runs for days: its code is compiled before it is measured. */
const WARM_UP_MS = 4_000

/** A version and its database. */
interface Installed extends Version {
  readonly url: string
}

interface Served {
  readonly name: Version['name'] | 'bare'
  readonly port: number
  readonly pid: number
  readonly keys: readonly string[]
  readonly postgresPid: number | undefined
}

/** What one phase saw: requests a second, latency, and CPU microseconds a request. */
interface Phase {
  readonly perSecond: number
  readonly p50Ms: number
  readonly serverUs: number
  readonly postgresUs: number
}

type Phases = Readonly<Record<Served['name'], Phase[]>>

/** The metered path of this version and of another one, in short phases that alternate; beside bare `Bun.serve`. */
export async function compareMetered({ databaseUrl }: { readonly databaseUrl: string }): Promise<void> {
  const { start, stop } = createChildGroup()
  try {
    const generator = start('load.ts')
    const bare = start('bare.ts')
    const { port } = await bare.read<{ port: number }>()
    const ceiling: Served = { name: 'bare', port, pid: bare.pid, keys: [], postgresPid: undefined }
    const installed: Installed[] = []
    for (const each of await versions()) installed.push({ ...each, url: await newDatabase(databaseUrl, each) })

    const phase = async (each: Served, [organizations, connections]: readonly [number, number], durationMs: number) => {
      const { port, pid, keys, postgresPid } = each
      const postgres = postgresPid === undefined ? [] : family(postgresPid)
      const before = [cpuUs([pid]), cpuUs(postgres)]
      const job = { port, path: CONSTANT_PATH, keys: keys.slice(0, organizations), connections, durationMs }
      const result = await offer(generator, job)
      const after = [cpuUs([pid]), cpuUs(postgres)]
      const all = Object.values(result.statuses).reduce((sum, count) => sum + count, 0)
      if (result.statuses['200'] !== all) throw new Error(`Cannot compare: ${JSON.stringify(result.statuses)}`)
      const used = (part: 0 | 1) => ((after[part] ?? Number.NaN) - (before[part] ?? Number.NaN)) / all
      const perSecond = (result.answers / result.elapsedMs) * 1_000
      return { perSecond, p50Ms: result.p50Ms, serverUs: used(0), postgresUs: used(1) } satisfies Phase
    }

    const cells = CELLS.map((cell) => ({ cell, phases: { bare: [], old: [], new: [] } as Phases }))
    for (let count = 0; count < STARTS; count++) {
      const running: Child[] = []
      const served = [ceiling]
      for (const { name, root, url } of installed) {
        const child = start(join(root, 'test/bench/ours.ts'), {
          BENCH_DATABASE_URL: url,
          BENCH_JOURNAL: temporaryDirectory(),
          BENCH_ORGANIZATIONS: String(ORGANIZATIONS_MAX),
        })
        running.push(child)
        served.push({ name, pid: child.pid, ...(await child.read<OursReady>()) })
      }
      for (const each of served) if (each !== ceiling) await phase(each, [ORGANIZATIONS_MAX, 64], WARM_UP_MS)
      for (const { cell, phases } of cells) {
        for (let round = 0; round < ROUNDS; round++) {
          const inTurn = (count + round) % 2 === 0 ? served : served.toReversed()
          for (const each of inTurn) phases[each.name].push(await phase(each, cell, PHASE_MS))
        }
      }
      await Promise.all(running.map((child) => child.stop()))
    }
    const rows = cells.map(({ cell, phases }) => toRow(cell, phases))
    printTable(HEAD, rows)
    printNote(`medians of ${STARTS} starts and ${ROUNDS} phases in turn after each; CPU microseconds per request`)
  } finally {
    await stop()
  }
}

const HEAD = [
  ...['orgs', 'conns', 'bare/s', 'old ÷ bare', 'new ÷ bare', 'old p50 ms', 'new'],
  ...['bare CPU', 'old', 'new', 'new ÷ old', 'old ÷ bare', 'new ÷ bare', 'PostgreSQL old', 'new'],
]

function toRow(cell: readonly [number, number], phases: Phases): string[] {
  const of = (name: Served['name'], figure: keyof Phase) => median(phases[name].map((each) => each[figure]))
  const speed = of('bare', 'perSecond')
  const [bare, old, now] = [of('bare', 'serverUs'), of('old', 'serverUs'), of('new', 'serverUs')]
  // By round, because what else the machine does changes from round to round.
  const ratio = median(phases.new.map((each, round) => each.serverUs / (phases.old[round]?.serverUs ?? 0)))
  return [
    ...cell.map(String),
    ...[speed.toFixed(0), (of('old', 'perSecond') / speed).toFixed(3), (of('new', 'perSecond') / speed).toFixed(3)],
    ...[of('old', 'p50Ms'), of('new', 'p50Ms')].map((ms) => ms.toFixed(2)),
    ...[bare, old, now].map((us) => us.toFixed(1)),
    ...[ratio, old / bare, now / bare].map((ratio) => ratio.toFixed(2)),
    ...[of('old', 'postgresUs'), of('new', 'postgresUs')].map((us) => us.toFixed(1)),
  ]
}

/** An empty database of its own for a version, with its tables: those of the other may be others. */
async function newDatabase(serverUrl: string, { name, root }: Version): Promise<string> {
  const db = openDatabase({ url: serverUrl, clock: systemClock, log: silentLog, max: 1 })
  await db
    .run(`create database compare_${name}`, [], { lane: 'background', deadlineMs: 60_000 })
    .finally(() => db.close())
  const url = new URL(serverUrl)
  url.pathname = `/compare_${name}`
  const env = { ...process.env, DATABASE_URL: url.href }
  const child = Bun.spawn([process.execPath, join(root, 'src/main.ts'), 'migrate'], { env, stdout: 'ignore' })
  if ((await child.exited) !== 0) throw new Error('Cannot compare: the database could not be migrated')
  return url.href
}
