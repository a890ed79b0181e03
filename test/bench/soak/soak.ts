import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { DEVNET_ROW } from '../../devnet/chain.ts'
import type { Service } from '../../devnet/service.ts'
import { temporaryDirectory } from '../../support/database.ts'
import { environment, startMetered } from '../answers/service.ts'
import { type Child, offer, startChild } from '../child.ts'
import { cpuUs, family } from '../cpu.ts'
import type { LoadResult } from '../load.ts'
import { printNote, printTable } from '../table.ts'
import type { LiveHeap } from './heap.ts'
import { type SoakWorld, startSoakWorld } from './world.ts'

const MINUTES = 60
const PER_SECOND = 30
const CONNECTIONS = 32
const BLOCK_MS = 2_000
/** The share of the time after which memory must be flat, and by how much an hour it may still grow. */
const RISE = 0.25
const BAR_MB = 1
const MINUTE_MS = 60_000
/** The rest of a minute in which what is in flight ends, before the heap is looked at. */
const PAUSE_MS = 2_000
const MB = 1e6
const PATIENCE = 120

/** What a minute showed. */
interface Minute {
  readonly atMin: number
  readonly heap: LiveHeap
  readonly serviceMb: number
  readonly otherMb: number
  readonly cpuPct: number
  readonly result: LoadResult
}

/**
 * Asks a service twelve kinds of questions for an hour (`--minutes=`), 30 a second, while a block comes every two seconds,
 * and shows how fast what lives after a collection grows from the second quarter on. The service is the program as its
 * source runs, because its heap is looked at from inside.
 */
export async function benchSoak({ quick }: { readonly quick: boolean }): Promise<void> {
  const minutes = Number(process.argv.find((word) => word.startsWith('--minutes='))?.slice(10) ?? (quick ? 4 : MINUTES))
  const world = await startSoakWorld()
  const socket = join(temporaryDirectory(), 'heap.sock')
  let service: Service | undefined
  let generator: Child | undefined
  let trading: ReturnType<typeof setInterval> | undefined
  try {
    const { rpcUrl, solanaUrl } = world
    const row = { uniswapV4: DEVNET_ROW.uniswapV4, blockTimeMs: BLOCK_MS }
    const env = { ...(await environment({ url: rpcUrl, solanaUrl, row })), BENCH_HEAP: socket }
    service = await startMetered(env, { preload: join(import.meta.dir, 'heap.ts') })
    await warmUp(service, world)
    trading = setInterval(() => {
      world.trade().catch((error: Error) => console.error(`Cannot trade: ${error.message}`))
    }, BLOCK_MS)
    generator = startChild('load.ts')
    const seen: Minute[] = []
    const beganMs = performance.now()
    for (let minute = 0; minute < minutes; minute++) {
      seen.push(await soak({ service, generator, world, socket, minute, beganMs }))
    }
    report(seen)
  } finally {
    clearInterval(trading)
    await generator?.stop()
    await service?.stop()
    await world.stop()
  }
}

/** Asks everything once until it is answered, so that histories are read. */
async function warmUp({ url, apiKey }: Service, { kinds }: SoakWorld): Promise<void> {
  for (const [name, ask] of Object.entries(kinds)) {
    for (let time = 0; time < 12; time++) {
      const { path, body, headers = [] } = ask(time)
      let last = ''
      let status = 0
      for (let tries = 0; status !== 200; tries++) {
        if (tries > PATIENCE) throw new Error(`Cannot soak: ${name} stays ${status} ${last}`)
        const given = headers.map((line) => line.split(': ') as [string, string])
        const response = await fetch(url + path, {
          headers: {
            authorization: `Bearer ${apiKey}`,
            'content-type': 'application/json',
            ...Object.fromEntries(given),
          },
          ...(body !== undefined && { method: 'POST', body }),
        })
        status = response.status
        last = await response.text()
        if (status !== 200) await Bun.sleep(500)
      }
    }
  }
}

/** A minute of questions, then the heap. */
async function soak(at: {
  readonly service: Service
  readonly generator: Child
  readonly world: SoakWorld
  readonly socket: string
  readonly minute: number
  readonly beganMs: number
}): Promise<Minute> {
  const { service, generator, world, socket, minute, beganMs } = at
  const kinds = Object.values(world.kinds)
  const durationMs = MINUTE_MS - PAUSE_MS
  const count = (durationMs / 1_000) * PER_SECOND
  const requests = Array.from({ length: count }, (_, index) => {
    const number = minute * count + index
    const ask = kinds[number % kinds.length]
    if (ask === undefined) throw new Error('Cannot soak: there is nothing to ask')
    return { ...ask(Math.floor(number / kinds.length)), keys: [service.apiKey] }
  })
  const [first, ...others] = requests
  if (first === undefined) throw new Error('Cannot soak: a minute is too short')
  const cpuBefore = cpuUs([service.pid]) ?? Number.NaN
  const job = { ...first, others, port: Number(new URL(service.url).port) }
  const result = await offer(generator, { ...job, connections: CONNECTIONS, durationMs, perSecond: PER_SECOND })
  const cpuPct = ((cpuUs([service.pid]) ?? Number.NaN) - cpuBefore) / (durationMs * 10)
  await Bun.sleep(Math.max(0, beganMs + (minute + 1) * MINUTE_MS - PAUSE_MS / 2 - performance.now()))
  const heap = (await (await fetch('http://heap/', { unix: socket })).json()) as LiveHeap
  const [serviceMb = 0, ...rest] = family(service.pid).map(readResidentMb)
  const seen = {
    atMin: (performance.now() - beganMs) / MINUTE_MS,
    heap,
    serviceMb,
    otherMb: rest.reduce((sum, mb) => sum + mb, 0),
    cpuPct,
    result,
  }
  console.error(
    `${seen.atMin.toFixed(1)} min: ${(heap.bytes / MB).toFixed(2)} MB in ${heap.objects} objects, ${serviceMb.toFixed(0)} + ${seen.otherMb.toFixed(0)} MB, ${cpuPct.toFixed(1)} % CPU, p99 ${result.p99Ms.toFixed(0)} ms, ${JSON.stringify(result.statuses)}`,
  )
  await Bun.sleep(Math.max(0, beganMs + (minute + 1) * MINUTE_MS - performance.now()))
  return seen
}

/** Memory of a process, its share of what others use too: proportional, so that a server's buffers count once. */
function readResidentMb(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0) / 1_000
  } catch {
    // It ended meanwhile, or this is no Linux.
    return 0
  }
}

function report(seen: readonly Minute[]): void {
  const later = seen.slice(Math.floor(seen.length * RISE))
  const { slope, error } = fitLine(later.map(({ atMin, heap }) => [atMin / 60, heap.bytes / MB]))
  const step = Math.max(1, Math.floor(seen.length / 12))
  const rows = seen
    .filter((_, index) => index === 0 || (index + 1) % step === 0)
    .map(({ atMin, heap, serviceMb, otherMb, cpuPct, result }) => [
      ...[atMin.toFixed(0), (heap.bytes / MB).toFixed(2), String(heap.objects)],
      ...[serviceMb.toFixed(0), otherMb.toFixed(0), cpuPct.toFixed(1), result.p50Ms.toFixed(0)],
      ...[result.p99Ms.toFixed(0), formatStatuses([result])],
    ])
  printTable(
    ['min', 'live heap MB', 'objects', 'service MB', 'others MB', 'CPU %', 'p50 ms', 'p99 ms', 'answers'],
    rows,
  )
  printNote(
    `live heap from minute ${later[0]?.atMin.toFixed(0)} on: ${slope.toFixed(2)} ± ${error.toFixed(2)} MB an hour (bar ${BAR_MB} ${slope < BAR_MB ? 'met' : 'MISSED'}); ${formatStatuses(seen.map(({ result }) => result))} in all; load average ${loadavg()
      .map((each) => each.toFixed(1))
      .join(' ')}`,
  )
  const [begin, end] = [later[0]?.heap.byType ?? {}, later.at(-1)?.heap.byType ?? {}]
  const grown = Object.entries(end)
    .map(([type, count]) => [type, count - (begin[type] ?? 0)] as const)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 6)
  printNote(`Objects that grew most since then: ${grown.map(([type, count]) => `${type} ${count}`).join(', ')}.`)
}

function formatStatuses(results: readonly LoadResult[]): string {
  const all = new Map<string, number>()
  for (const { statuses, broken } of results) {
    for (const [status, count] of [...Object.entries(statuses), ['broken', broken] as const]) {
      all.set(status, (all.get(status) ?? 0) + count)
    }
  }
  return [...all]
    .filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')
}

/** Least squares: the slope and its standard error. */
function fitLine(points: readonly (readonly [x: number, y: number])[]): { slope: number; error: number } {
  const count = points.length
  const mean = (side: 0 | 1) => points.reduce((sum, point) => sum + point[side], 0) / count
  const [meanX, meanY] = [mean(0), mean(1)]
  const spread = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0)
  const slope = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0) / spread
  const rest = points.reduce((sum, [x, y]) => sum + (y - meanY - slope * (x - meanX)) ** 2, 0)
  return { slope, error: Math.sqrt(rest / (count - 2) / spread) }
}
