import { temporaryDirectory } from '../support/database.ts'
import { createChildGroup, offer } from './child.ts'
import { cpuUs, family } from './cpu.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { mean, median, printNote, printTable } from './table.ts'

const CONNECTIONS = [1, 16, 64, 256] as const
const ORGANIZATIONS_MANY = 1000
/** The route that reads nothing. */
export const CONSTANT_PATH = '/v1/bench/constant'

/** How long each burst lasts and how often it is repeated. */
interface Pace {
  readonly rounds: number
  readonly bareMs: number
  readonly oursMs: number
  readonly naiveMs: number
}
const FULL: Pace = { rounds: 4, bareMs: 500, oursMs: 1500, naiveMs: 1000 }
const QUICK: Pace = { rounds: 1, bareMs: 250, oursMs: 700, naiveMs: 500 }

/** Message of the metered server once it listens. */
export interface OursReady {
  readonly port: number
  readonly keys: readonly string[]
  /** A process of the database server, if it runs on this machine. */
  readonly postgresPid: number | undefined
}

/** Totals of the metered server's database after the load. */
export interface Books {
  readonly organizations: number
  /** Organizations whose granted credits are not what was charged and what is left. */
  readonly unbalanced: number
  readonly charged: number
  readonly logged: number
}

interface Target extends Omit<LoadJob, 'connections' | 'durationMs'> {
  readonly pid: number
}

interface Burst extends LoadResult {
  readonly perSecond: number
  /** CPU microseconds per request; undefined if unknown. */
  readonly serverCpuUs: number | undefined
  readonly postgresCpuUs: number | undefined
}

/** Measures the metered route against bare `Bun.serve` and four plain statements; false when the books are wrong. */
export async function benchMetered(options: {
  readonly quick: boolean
  readonly databaseUrl: string
}): Promise<boolean> {
  const pace = options.quick ? QUICK : FULL
  const { start, stop } = createChildGroup()
  try {
    const generator = start('load.ts')
    const bareServer = start('bare.ts')
    const { port: barePort } = await bareServer.read<{ port: number }>()
    const oursServer = start('ours.ts', {
      BENCH_DATABASE_URL: options.databaseUrl,
      BENCH_JOURNAL: temporaryDirectory(),
      BENCH_ORGANIZATIONS: String(1 + ORGANIZATIONS_MANY),
    })
    const ours = await oursServer.read<OursReady>()
    const naiveServer = start('naive.ts', {
      BENCH_DATABASE_URL: options.databaseUrl,
      BENCH_KEYS: JSON.stringify(ours.keys),
    })
    const { port: naivePort } = await naiveServer.read<{ port: number }>()

    let delivered = 0
    let refused = 0
    const burst = async (target: Target, connections: number, durationMs: number): Promise<Burst> => {
      const postgres = ours.postgresPid === undefined ? [] : family(ours.postgresPid)
      const before = [cpuUs([target.pid]), cpuUs(postgres)]
      const result = await offer(generator, { ...target, connections, durationMs })
      const after = [cpuUs([target.pid]), cpuUs(postgres)]
      const all = Object.values(result.statuses).reduce((sum, count) => sum + count, 0)
      const [serverCpuUs, postgresCpuUs] = [0, 1].map((part) => {
        const [from, to] = [before[part], after[part]]
        return from === undefined || to === undefined ? undefined : (to - from) / Math.max(1, all)
      })
      if (target.port === ours.port) {
        delivered += result.statuses['200'] ?? 0
        refused += all - (result.statuses['200'] ?? 0) + result.broken
      }
      return {
        ...result,
        perSecond: (result.answers / result.elapsedMs) * 1000,
        serverCpuUs,
        postgresCpuUs,
      }
    }

    const rows: Cell[] = []
    for (const organizations of [1, ORGANIZATIONS_MANY]) {
      const keys = organizations === 1 ? ours.keys.slice(0, 1) : ours.keys.slice(1)
      const bare = { port: barePort, path: CONSTANT_PATH, keys, pid: bareServer.pid }
      const metered = { port: ours.port, path: CONSTANT_PATH, keys, pid: oursServer.pid }
      const naive = { port: naivePort, path: CONSTANT_PATH, keys, pid: naiveServer.pid }
      for (const target of [bare, metered, naive]) await burst(target, 64, pace.naiveMs)
      for (const connections of CONNECTIONS) {
        const cell: Cell = { organizations, connections, bare: [], ours: [], naive: [] }
        cell.bare.push(await burst(bare, connections, pace.bareMs))
        for (let round = 0; round < pace.rounds; round += 1) {
          cell.ours.push(await burst(metered, connections, pace.oursMs))
          cell.bare.push(await burst(bare, connections, pace.bareMs))
          cell.naive.push(await burst(naive, connections, pace.naiveMs))
          cell.bare.push(await burst(bare, connections, pace.bareMs))
        }
        rows.push(cell)
        if (process.stderr.isTTY) process.stderr.write(`\rmeasured ${rows.length} of ${2 * CONNECTIONS.length} cells`)
      }
    }
    if (process.stderr.isTTY) process.stderr.write('\r')
    report(rows)

    oursServer.write({ books: true })
    const books = await oursServer.read<Books>()
    const right = books.unbalanced === 0 && books.charged === delivered && refused === 0
    printNote(
      `books: ${books.organizations} organizations, ${books.unbalanced} where granted differs from charged + balance; ` +
        `${delivered} answers delivered, ${books.charged} charged, ${books.logged} logged, ${refused} refused or broken: ` +
        `${right ? 'right' : 'WRONG'}`,
    )
    return right
  } finally {
    await stop()
  }
}

/** Bursts of one number of organizations and connections; `bare` has one more before and after each of the others. */
interface Cell {
  readonly organizations: number
  readonly connections: number
  readonly bare: Burst[]
  readonly ours: Burst[]
  readonly naive: Burst[]
}

function report(cells: readonly Cell[]): void {
  printTable(
    ['orgs', 'conns', 'bare/s', 'ours/s', 'ratio', 'p50 ms', 'p99 ms', 'naive/s', 'ours ÷ naive'],
    cells.map((cell) => {
      const { organizations, connections, bare, ours, naive } = cell
      const ratio = median(ratios(ours, bare, 0))
      return [
        String(organizations),
        String(connections),
        median(rates(bare)).toFixed(0),
        median(rates(ours)).toFixed(0),
        ratio.toFixed(3),
        median(ours.map((each) => each.p50Ms)).toFixed(2),
        median(ours.map((each) => each.p99Ms)).toFixed(2),
        median(rates(naive)).toFixed(0),
        (ratio / median(ratios(naive, bare, 1))).toFixed(1),
      ]
    }),
  )
  printNote('ratio: median over rounds of ours ÷ the mean of the bare bursts before and after')
  if (cells.some(({ ours }) => ours.some((each) => each.serverCpuUs === undefined))) return
  printTable(
    [
      'orgs',
      'conns',
      'bare',
      'ours: server',
      'PostgreSQL',
      'naive: server',
      'PostgreSQL',
      'server ÷ bare',
      'naive ÷ ours',
    ],
    cells.map(({ organizations, connections, bare, ours, naive }) => {
      const [bareUs, oursUs, naiveUs] = [bare, ours, naive].map((each) => cpu(each, 'serverCpuUs')) as [
        number,
        number,
        number,
      ]
      const [oursPostgresUs, naivePostgresUs] = [ours, naive].map((each) => cpu(each, 'postgresCpuUs')) as [
        number,
        number,
      ]
      return [
        ...[organizations, connections].map(String),
        ...[bareUs, oursUs, oursPostgresUs, naiveUs, naivePostgresUs].map((each) => each.toFixed(1)),
        (oursUs / bareUs).toFixed(1),
        ((naiveUs + naivePostgresUs) / (oursUs + oursPostgresUs)).toFixed(1),
      ]
    }),
  )
  printNote('CPU microseconds per request, medians over rounds')
}

function ratios(bursts: readonly Burst[], bare: readonly Burst[], offset: 0 | 1): readonly number[] {
  return bursts.map(
    (each, round) => each.perSecond / mean(rates(bare.slice(2 * round + offset, 2 * round + offset + 2))),
  )
}

function rates(bursts: readonly Burst[]): readonly number[] {
  return bursts.map((each) => each.perSecond)
}

function cpu(bursts: readonly Burst[], part: 'serverCpuUs' | 'postgresCpuUs'): number {
  return median(bursts.map((each) => each[part] ?? Number.NaN))
}
