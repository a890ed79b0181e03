import type { ChildProcess } from 'node:child_process'
import { withTimeout } from '../../lib/async/abort.ts'
import { type Clock, repeat } from '../../lib/clock.ts'
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
  /** Starts the program with the same arguments, and a message channel. */
  readonly start: (environment: Readonly<Record<string, string | undefined>>) => ChildProcess
  /** True if the runtime shares one listener among all workers by itself. */
  readonly sharesListener: boolean
}

interface WorkerPoolOptions {
  readonly fork: Fork
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly workers: number
  /** URL of the embedded database; absent: as configured. */
  readonly databaseUrl: string | undefined
  /** Metrics of the supervisor itself. */
  readonly metrics: Metrics
  /** How long workers may take to stop, milliseconds. */
  readonly stopMs: number
  readonly clock: Clock
  readonly log: Log
}

/** Worker processes that share a listener and a database. */
interface WorkerPool {
  /** Starts all workers; resolves once the first listens, and throws if the first ends before that. */
  start(): Promise<Ports>
  /** Stops all workers, and kills those that do not stop in time. */
  stop(reason: string): Promise<void>
}

interface PoolMember {
  readonly workerNumber: number
  readonly child: ChildProcess
  readonly startedMs: number
  /** When its silence becomes too long, monotonic milliseconds. */
  silentUntilMs: number
  /** Figures of its last report. */
  figures: readonly MetricSample[]
  readonly ended: Promise<void>
}

/** Pause before an exited worker is restarted: doubled each time, until a worker runs for `STABLE_MS`. */
const RESTART_WAIT_MS = { least: 50, most: 5_000 }
const STABLE_MS = 10_000
/** How long a worker may take to report its figures; after that, its last report counts. */
const COLLECT_MS = 1_000
/** A worker that reports nothing for so long is killed: its share of all connections gets no answer. */
const SILENT_MAX_MS = 15_000
/** Time for a start, which may wait for its database. */
const STARTING_MAX_MS = 60_000
const WATCH_MS = 2_000

/** Creates workers that share one listener and one database; restarts a worker that exits. */
export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const { fork, environment, workers, databaseUrl, metrics, stopMs, clock, log } = options
  const members = new Set<PoolMember>()
  const restartCancels = new Set<() => void>()
  const restartWaitMs = new Map<number, number>()
  const figuresCallbacks = new Map<number, () => void>()
  /** Counters of exited workers, because counters never fall. */
  let exitedFigures: readonly MetricSample[] = []
  let lastQuestionId = 0
  let ports: Ports | undefined
  let onListening: (ports: Ports) => void = () => {}
  let isStopping = false

  metrics.gauge({ name: 'walletscope_workers', help: 'Running worker processes.', read: () => members.size })
  const restarts = metrics.counter({
    name: 'walletscope_worker_restarts_total',
    help: 'Restarts of worker processes that exited by themselves.',
  })()

  function startMember(workerNumber: number): PoolMember {
    const assignment: WorkerAssignment = {
      workerNumber,
      workers,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
      ...(fork.sharesListener || ports === undefined ? {} : { ports }),
    }
    const child = fork.start({ ...environment, [WORKER_VARIABLE]: JSON.stringify(assignment) })
    const ended = new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      child.once('error', () => resolve())
    })
    const startedMs = clock.monotonicMs()
    const silentUntilMs = startedMs + STARTING_MAX_MS
    const member: PoolMember = { workerNumber, child, startedMs, silentUntilMs, figures: [], ended }
    members.add(member)
    child.on('message', (message: WorkerMessage) => onMessage(member, message))
    void ended.then(() => onExit(member))
    return member
  }

  function onMessage(member: PoolMember, message: WorkerMessage): void {
    member.silentUntilMs = clock.monotonicMs() + SILENT_MAX_MS
    if (message.kind === 'listens') {
      ports ??= { port: message.port, operatorPort: message.operatorPort }
      onListening(ports)
    } else if (message.kind === 'figures') {
      member.figures = message.figures
      if (message.id !== undefined) figuresCallbacks.get(message.id)?.()
    } else {
      const { id } = message
      void scrape().then((text) => sendMessage(member, { kind: 'scraped', id, text }))
    }
  }

  function onExit(member: PoolMember): void {
    const { workerNumber, child, startedMs, figures } = member
    members.delete(member)
    exitedFigures = mergeMetrics([exitedFigures, figures.filter(({ type }) => type !== 'gauge')])
    if (isStopping || ports === undefined) return
    log.error({ msg: 'A worker exited', worker: workerNumber, status: child.exitCode, signal: child.signalCode })
    restarts.add(1)
    const livedMs = clock.monotonicMs() - startedMs
    const waitMs =
      livedMs > STABLE_MS ? RESTART_WAIT_MS.least : (restartWaitMs.get(workerNumber) ?? RESTART_WAIT_MS.least)
    restartAfter(waitMs, workerNumber)
  }

  /** Restarts a worker after a pause, and after a longer one again if the system starts no process now. */
  function restartAfter(waitMs: number, workerNumber: number): void {
    const nextMs = Math.min(RESTART_WAIT_MS.most, 2 * waitMs)
    restartWaitMs.set(workerNumber, nextMs)
    const cancel = clock.after(waitMs, () => {
      restartCancels.delete(cancel)
      try {
        startMember(workerNumber)
        log.info({ msg: 'Restarted a worker', worker: workerNumber })
      } catch (error) {
        log.error({ msg: 'Failed to restart a worker', worker: workerNumber, error })
        restartAfter(nextMs, workerNumber)
      }
    })
    restartCancels.add(cancel)
  }

  let watchedMs = clock.monotonicMs()

  /** Kills workers that are silent for too long. */
  function killSilent(): void {
    const nowMs = clock.monotonicMs()
    // This process stood still as well: what workers said meanwhile is not read yet.
    const lateMs = nowMs - watchedMs - WATCH_MS
    watchedMs = nowMs
    for (const member of members) {
      if (lateMs > WATCH_MS) member.silentUntilMs += lateMs
      if (nowMs <= member.silentUntilMs) continue
      const { workerNumber, child } = member
      log.error({ msg: 'Killing a worker that hangs', worker: workerNumber, silentMs: SILENT_MAX_MS })
      child.kill('SIGKILL')
    }
  }

  /** Returns the current metrics of all workers, as text. */
  async function scrape(): Promise<string> {
    await withTimeout(Promise.all([...members].map(collectFigures)), { ms: COLLECT_MS, clock }).catch(() => {})
    return renderMetrics(
      mergeMetrics([metrics.readSamples(), ...[...members].map(({ figures }) => figures), exitedFigures]),
    )
  }

  /** Resolves once a worker has reported its figures, or has exited. */
  async function collectFigures(member: PoolMember): Promise<void> {
    const id = ++lastQuestionId
    const reported = new Promise<void>((resolve) => figuresCallbacks.set(id, resolve))
    sendMessage(member, { kind: 'count', id })
    await Promise.race([reported, member.ended])
    figuresCallbacks.delete(id)
  }

  const stopWatching = repeat(clock, WATCH_MS, killSilent)

  return {
    async start() {
      const listening = new Promise<Ports>((resolve) => {
        onListening = resolve
      })
      const first = startMember(1)
      const failed = first.ended.then(() => {
        throw new Error('Cannot start the workers: the first one ended before it listened')
      })
      const openPorts = await Promise.race([listening, failed])
      for (let workerNumber = 2; workerNumber <= workers; workerNumber++) startMember(workerNumber)
      return openPorts
    },
    async stop(reason) {
      isStopping = true
      stopWatching()
      for (const cancel of restartCancels) cancel()
      const remaining = [...members]
      const allExited = Promise.all(remaining.map(({ ended }) => ended))
      for (const member of remaining) sendMessage(member, { kind: 'stop', reason })
      await withTimeout(allExited, { ms: stopMs, clock }).catch(() => {
        for (const { child } of members) child.kill('SIGKILL')
      })
      await allExited
    },
  }
}

/** Sends a message; ignores workers that have exited or are about to exit. */
function sendMessage({ child }: PoolMember, message: SupervisorMessage): void {
  if (child.connected) child.send(message, () => {})
}
