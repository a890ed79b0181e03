import type { ChildProcess } from 'node:child_process'
import { withTimeout } from '../../lib/async/wait.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { type MetricSample, type Metrics, mergeMetrics, renderMetrics } from '../../lib/metrics.ts'
import {
  type Ports,
  type SupervisorMessage,
  WORKER_VARIABLE,
  type WorkerAssignment,
  type WorkerMessage,
} from './channel.ts'

/** How this program starts itself again. */
export interface Fork {
  /** Starts it as it was started, with a channel. */
  readonly start: (environment: Readonly<Record<string, string | undefined>>) => ChildProcess
  /** True if the runtime gives all workers one listener by itself, whichever port they ask for. */
  readonly sharesListener: boolean
}

interface WorkerPoolOptions {
  readonly fork: Fork
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workers: number
  /** Of the embedded database; absent: as configured. */
  readonly databaseUrl: string | undefined
  /** What this process itself counts. */
  readonly metrics: Metrics
  /** How long workers may take to stop, milliseconds. */
  readonly stopMs: number
  readonly clock: Clock
  readonly log: Log
}

/** Processes that serve as one. */
interface WorkerPool {
  /** Starts all of them; resolves once the first listens, and throws if that one ends before. */
  start(): Promise<Ports>
  /** Lets all of them stop, and kills those that do not in time. */
  stop(reason: string): Promise<void>
}

interface PoolMember {
  readonly place: number
  readonly child: ChildProcess
  readonly startedMs: number
  /** What it counted when it said so last. */
  figures: readonly MetricSample[]
  readonly ended: Promise<void>
}

/** Pause before a worker that ended is started again: doubled each time, until one has lived a while. */
const AGAIN_MS = { least: 50, most: 5_000 }
const LIVED_MS = 10_000
/** How long a worker may take to say its figures; after that, those that it said last count. */
const COUNT_MS = 1_000

/** Makes workers that share one listener and one database; one that ends is started again. */
export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { fork, environment, workers, databaseUrl, metrics, stopMs, clock, log } = options
  const members = new Set<PoolMember>()
  const timers = new Set<ReturnType<typeof setTimeout>>()
  const againMs = new Map<number, number>()
  const counted = new Map<number, () => void>()
  /** What those counted that are gone: counters never fall. */
  let past: readonly MetricSample[] = []
  let questions = 0
  let ports: Ports | undefined
  let opened: (ports: Ports) => void = () => {}
  let stopping = false

  metrics.gauge({ name: 'walletscope_workers', help: 'Serving processes that run.', read: () => members.size })
  const restarts = metrics.counter({
    name: 'walletscope_worker_restarts_total',
    help: 'Serving processes that ended by themselves, and were started again.',
  })()

  function begin(place: number): PoolMember {
    const told: WorkerAssignment = {
      place,
      workers,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
      ...(fork.sharesListener || ports === undefined ? {} : { ports }),
    }
    const child = fork.start({ ...environment, [WORKER_VARIABLE]: JSON.stringify(told) })
    const ended = new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      child.once('error', () => resolve())
    })
    const member: PoolMember = { place, child, startedMs: clock.monotonicMs(), figures: [], ended }
    members.add(member)
    child.on('message', (message: WorkerMessage) => heard(member, message))
    void ended.then(() => lost(member))
    return member
  }

  function heard(member: PoolMember, message: WorkerMessage): void {
    if (message.kind === 'listens') {
      ports ??= { port: message.port, operatorPort: message.operatorPort }
      opened(ports)
    } else if (message.kind === 'figures') {
      member.figures = message.figures
      if (message.id !== undefined) counted.get(message.id)?.()
    } else {
      const { id } = message
      void scrape().then((text) => tell(member, { kind: 'scraped', id, text }))
    }
  }

  function lost(member: PoolMember): void {
    const { place, child, startedMs, figures } = member
    members.delete(member)
    past = mergeMetrics([past, figures.filter(({ type }) => type !== 'gauge')])
    if (stopping || ports === undefined) return
    log.error({ msg: 'Lost a worker', worker: place, status: child.exitCode, signal: child.signalCode })
    restarts.add(1)
    const livedMs = clock.monotonicMs() - startedMs
    const waitMs = livedMs > LIVED_MS ? AGAIN_MS.least : (againMs.get(place) ?? AGAIN_MS.least)
    againMs.set(place, Math.min(AGAIN_MS.most, 2 * waitMs))
    const timer = setTimeout(() => {
      timers.delete(timer)
      begin(place)
      log.info({ msg: 'Started a worker again', worker: place })
    }, waitMs)
    timers.add(timer)
  }

  /** The metrics of all as they stand now, as text. */
  async function scrape(): Promise<string> {
    await withTimeout(COUNT_MS, Promise.all([...members].map(count))).catch(() => {})
    return renderMetrics(mergeMetrics([metrics.figures(), ...[...members].map(({ figures }) => figures), past]))
  }

  /** Resolves once a worker has said its figures, or is gone. */
  async function count(member: PoolMember): Promise<void> {
    const id = ++questions
    const answered = new Promise<void>((resolve) => counted.set(id, resolve))
    tell(member, { kind: 'count', id })
    await Promise.race([answered, member.ended])
    counted.delete(id)
  }

  return {
    async start() {
      const listening = new Promise<Ports>((resolve) => {
        opened = resolve
      })
      const first = begin(1)
      const failed = first.ended.then(() => {
        throw new Error('Cannot start the workers: the first one ended before it listened')
      })
      const open = await Promise.race([listening, failed])
      for (let place = 2; place <= workers; place++) begin(place)
      return open
    },
    async stop(reason) {
      stopping = true
      for (const timer of timers) clearTimeout(timer)
      const living = [...members]
      const gone = Promise.all(living.map(({ ended }) => ended))
      for (const member of living) tell(member, { kind: 'stop', reason })
      await withTimeout(stopMs, gone).catch(() => {
        for (const { child } of members) child.kill('SIGKILL')
      })
      await gone
    },
  }
}

/** A worker that is gone, or about to go, needs no telling. */
function tell({ child }: PoolMember, message: SupervisorMessage): void {
  if (child.connected) child.send(message, () => {})
}
