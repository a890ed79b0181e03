import { join } from 'node:path'
import { toWalletAddress } from '../devnet/addresses.ts'
import { startDevnet } from '../devnet/mod.ts'
import type { Service } from '../devnet/service.ts'
import { temporaryDirectory } from '../support/database.ts'
import { environment, startMetered } from './answers/service.ts'
import { type Child, startChild } from './child.ts'
import { CONSTANT_PATH, type OursReady } from './metered.ts'
import { type Phase, runPhase } from './phase.ts'
import { median, printNote, printTable } from './table.ts'

/** What the metered path is held to beside bare `Bun.serve`: the most CPU, and the least requests a second. */
const METERED = [
  { organizations: 1, connections: 256, cpu: 3.5, requests: 0.27 },
  { organizations: 1_000, connections: 256, cpu: 4.2, requests: 0.18 },
  { organizations: 1, connections: 64, requests: 0.14 },
  { organizations: 1_000, connections: 64, requests: 0.105 },
] as const
/** Median latency at one connection, beside that of four plain statements. */
const P50_TO_NAIVE_MAX = 0.8
const ALLOCATED_KB_MAX = 10
/** Of a list that is read anew. */
const LIST_POSITIONS = 300
const LIST_CPU_MS_MAX = 2
const LIST_PER_SECOND_MIN = 600
const LIST_CALLERS = 16

const ORGANIZATIONS_MAX = 1_000
const ROUNDS = 12
/** So long that opening the connections hardly counts. */
const PHASE_MS = 1_200
/** A service runs for days: its code is compiled before it is measured. */
const WARM_UP_MS = 4_000
const COLLECTIONS_MS = 8_000

/** A figure and the most or the least that it should be. */
interface Goal {
  readonly name: string
  readonly measured: number
  readonly most?: number
  readonly least?: number
}

/** Every goal of speed but the tail, which `open_loop` has; each figure is the median of short phases in turn. */
export async function benchGoals({ databaseUrl }: { readonly databaseUrl: string }): Promise<void> {
  const goals = [...(await meteredGoals(databaseUrl)), await allocationGoal(databaseUrl), ...(await listGoals())]
  printTable(
    ['goal', 'measured', 'bar', ''],
    goals.map(({ name, measured, most, least }) => [
      name,
      measured.toPrecision(3),
      most === undefined ? `≥ ${least}` : `≤ ${most}`,
      (most === undefined || measured <= most) && (least === undefined || measured >= least) ? 'met' : 'MISSED',
    ]),
  )
  const load = (
    await Bun.file('/proc/loadavg')
      .text()
      .catch(() => '?')
  ).split(' ')[0]
  printNote(`medians of ${ROUNDS} phases in turn; load at the end: ${load}`)
}

async function meteredGoals(databaseUrl: string): Promise<readonly Goal[]> {
  return await withChildren(async (start) => {
    const generator = start('load.ts')
    const oursServer = start('ours.ts', serverEnvironment(databaseUrl))
    const ours = await oursServer.read<OursReady>()
    const naiveServer = start('naive.ts', { BENCH_DATABASE_URL: databaseUrl, BENCH_KEYS: JSON.stringify(ours.keys) })
    const naive = await naiveServer.read<{ readonly port: number }>()
    const bareServer = start('bare.ts')
    const bare = await bareServer.read<{ readonly port: number }>()
    const asked = { path: CONSTANT_PATH, keys: ours.keys }
    const servers = {
      bare: { pid: bareServer.pid, job: { ...asked, port: bare.port } },
      ours: { pid: oursServer.pid, job: { ...asked, port: ours.port } },
      naive: { pid: naiveServer.pid, job: { ...asked, port: naive.port } },
    }
    type Name = keyof typeof servers

    async function phase(name: Name, load: { organizations: number; connections: number; durationMs: number }) {
      const { pid, job } = servers[name]
      return await runPhase(generator, pid, { ...job, ...load, keys: ours.keys.slice(0, load.organizations) })
    }
    /** Median over rounds of a figure beside that of the other server in the same round. */
    async function ratios(name: Name, beside: Name, load: { organizations: number; connections: number }) {
      const pairs: (readonly [Phase, Phase])[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const order = round % 2 === 0 ? [name, beside] : [beside, name]
        const phases = new Map<string, Phase>()
        for (const each of order as Name[]) phases.set(each, await phase(each, { ...load, durationMs: PHASE_MS }))
        const [one, other] = [phases.get(name), phases.get(beside)]
        if (one !== undefined && other !== undefined) pairs.push([one, other])
      }
      return (figure: keyof Phase) => median(pairs.map(([one, other]) => one[figure] / other[figure]))
    }

    for (const name of ['bare', 'ours', 'naive'] as const) {
      await phase(name, { organizations: ORGANIZATIONS_MAX, connections: 64, durationMs: WARM_UP_MS })
    }
    const goals: Goal[] = []
    for (const { cpu, requests, ...load } of METERED.map((each) => ({ cpu: undefined, ...each }))) {
      const of = await ratios('ours', 'bare', load)
      const where = `${load.organizations} organizations, ${load.connections} connections`
      if (cpu !== undefined)
        goals.push({ name: `CPU of the server ÷ bare: ${where}`, measured: of('cpuUs'), most: cpu })
      goals.push({ name: `requests a second ÷ bare: ${where}`, measured: of('perSecond'), least: requests })
    }
    const of = await ratios('ours', 'naive', { organizations: 1, connections: 1 })
    return [...goals, { name: 'p50 ÷ naive: 1 connection', measured: of('p50Ms'), most: P50_TO_NAIVE_MAX }]
  })
}

/** Counted between collections, as the engine logs them: memory is taken in steps of some megabytes. */
async function allocationGoal(databaseUrl: string): Promise<Goal> {
  return await withChildren(async (start) => {
    const generator = start('load.ts')
    const log = Bun.file(join(temporaryDirectory(), 'collections.log'))
    const server = start('ours.ts', { ...serverEnvironment(databaseUrl), BUN_JSC_logGC: '2' }, log)
    const { port, keys } = await server.read<OursReady>()
    const job = { port, path: CONSTANT_PATH, keys: keys.slice(0, 1), connections: 256 }
    await runPhase(generator, server.pid, { ...job, durationMs: WARM_UP_MS })
    const before = (await log.text()).length
    const { answers } = await runPhase(generator, server.pid, { ...job, durationMs: COLLECTIONS_MS })
    const kilobytes = allocatedKb((await log.text()).slice(before))
    return { name: 'kB allocated a metered request', measured: kilobytes / answers, most: ALLOCATED_KB_MAX }
  })
}

/** What was allocated between the first collection and the last one, and once more as much as between two of them. */
function allocatedKb(log: string): number {
  let sum = 0
  let collections = 0
  let afterKb: number | undefined
  for (const [, start, end] of log.matchAll(/START M (\d+)kb|=> (\d+)kb, p=.*END/g)) {
    if (start !== undefined && afterKb !== undefined) {
      sum += Number(start) - afterKb
      collections++
    }
    if (end !== undefined) afterKb = Number(end)
  }
  return ((sum * 1_024) / 1_000) * (1 + 1 / collections)
}

async function listGoals(): Promise<readonly Goal[]> {
  let service: Service | undefined
  const devnet = await startDevnet()
  try {
    const wallet = toWalletAddress(`bench of ${LIST_POSITIONS}`)
    await devnet.mintMany(wallet, LIST_POSITIONS)
    return await withChildren(async (start) => {
      const far = start('answers/far.ts', { BENCH_TARGET: devnet.rpcUrl })
      const { url } = await far.read<{ readonly url: string }>()
      const generator = start('load.ts')
      const started = await startMetered(await environment({ url, row: { blockTimeMs: 0 } }))
      service = started
      const path = `/v1/positions/uniswap-v3?wallet=${wallet}`
      const job = { port: Number(new URL(started.url).port), path, keys: [started.apiKey], connections: LIST_CALLERS }
      await runPhase(generator, started.pid, { ...job, durationMs: WARM_UP_MS })
      const phases: Phase[] = []
      for (let round = 0; round < ROUNDS; round++) {
        phases.push(await runPhase(generator, started.pid, { ...job, durationMs: PHASE_MS }))
      }
      const of = (figure: keyof Phase) => median(phases.map((each) => each[figure]))
      const name = `a list of ${LIST_POSITIONS} positions, read anew`
      return [
        { name: `CPU ms of ${name}`, measured: of('cpuUs') / 1_000, most: LIST_CPU_MS_MAX },
        { name: `answers a second: ${name}`, measured: of('perSecond'), least: LIST_PER_SECOND_MIN },
      ]
    })
  } finally {
    await service?.stop()
    await devnet.stop()
  }
}

function serverEnvironment(databaseUrl: string) {
  return {
    BENCH_DATABASE_URL: databaseUrl,
    BENCH_JOURNAL: temporaryDirectory(),
    BENCH_ORGANIZATIONS: String(ORGANIZATIONS_MAX),
  }
}

/** Children that `run` starts are stopped when it ends. */
async function withChildren<T>(run: (start: typeof startChild) => Promise<T>): Promise<T> {
  const children: Child[] = []
  try {
    return await run((...args) => {
      const child = startChild(...args)
      children.push(child)
      return child
    })
  } finally {
    await Promise.all(children.map((child) => child.stop()))
  }
}
