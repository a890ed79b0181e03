import { type Clock, repeat } from '../../lib/clock.ts'
import { UnavailableError } from '../../lib/error.ts'
import type { MetricSample } from '../../lib/metrics.ts'
import {
  type Ports,
  type SupervisorMessage,
  WORKER_VARIABLE,
  type WorkerAssignment,
  type WorkerMessage,
} from './channel.ts'

/** This process as one of several workers. */
export interface Worker extends WorkerAssignment {
  /** Fires when the supervisor asks the worker to stop, or has ended; the reason names the signal or the loss. */
  readonly stop: AbortSignal
  /** Fires when the supervisor has ended: its database may have ended with it, and a new one needs the port. */
  readonly orphaned: AbortSignal
  /** Reports that the ports are open. */
  reportListening(ports: Ports): void
  /** Starts reporting the values of `read`, on request and periodically; `stop` reports a last time. */
  startReporting(read: () => readonly MetricSample[]): { stop(): Promise<void> }
  /** Returns the metrics of all workers as text. Throws `UnavailableError` if the supervisor does not answer. */
  scrape(): Promise<string>
}

/** Interval of periodic reports: a killed worker loses at most the figures of one interval. */
const REPORT_MS = 2_000
const SCRAPE_MS = 2_000

/** Returns this process's worker; undefined if a person or another supervisor started the process. */
export function findWorker(
  environment: Readonly<Record<string, string | undefined>>,
  clock: Clock,
): Worker | undefined {
  const text = environment[WORKER_VARIABLE]
  if (text === undefined || process.send === undefined) return undefined
  const assignment: WorkerAssignment = JSON.parse(text)
  const stop = new AbortController()
  const orphaned = new AbortController()
  const scrapeCallbacks = new Map<number, (text: string) => void>()
  let readFigures: () => readonly MetricSample[] = () => []
  let lastScrapeId = 0

  function onMessage(message: SupervisorMessage): void {
    if (message.kind === 'stop') stop.abort(message.reason)
    else if (message.kind === 'count') void sendMessage({ kind: 'figures', figures: readFigures(), id: message.id })
    else scrapeCallbacks.get(message.id)?.(message.text)
  }

  process.on('message', onMessage)
  process.on('disconnect', () => {
    const reason = 'the process that started it has ended'
    orphaned.abort(reason)
    stop.abort(reason)
  })
  return {
    ...assignment,
    stop: stop.signal,
    orphaned: orphaned.signal,
    reportListening: (ports) => void sendMessage({ kind: 'listens', ...ports }),
    startReporting(figures) {
      readFigures = figures
      const sendFigures = () => sendMessage({ kind: 'figures', figures: readFigures() })
      const stopReports = repeat(clock, REPORT_MS, () => void sendFigures())
      return {
        stop() {
          stopReports()
          return sendFigures()
        },
      }
    },
    scrape() {
      const id = ++lastScrapeId
      return new Promise<string>((resolve, reject) => {
        const cancel = clock.after(SCRAPE_MS, () =>
          reject(new UnavailableError('Cannot read the metrics of the workers: the supervisor did not answer')),
        )
        scrapeCallbacks.set(id, (metricsText) => {
          cancel()
          resolve(metricsText)
        })
        void sendMessage({ kind: 'scrape', id })
      }).finally(() => scrapeCallbacks.delete(id))
    },
  }
}

/** Resolves once the message is sent, or cannot be: the supervisor has then ended, and the worker is about to stop. */
function sendMessage(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve())
    else resolve()
  })
}
