import { UnavailableError } from '../../lib/error.ts'
import type { MetricSample } from '../../lib/metrics.ts'
import {
  type Ports,
  type SupervisorMessage,
  WORKER_VARIABLE,
  type WorkerAssignment,
  type WorkerMessage,
} from './channel.ts'

/** This process as one of several that serve as one. */
export interface Worker extends WorkerAssignment {
  /** Fires when the process that started it says so, or is gone; its reason is a signal or says that. */
  readonly stop: AbortSignal
  /** Says that the ports are open. */
  listens(ports: Ports): void
  /** From now on says what `read` gives, when it is asked and now and then; once more when it is stopped. */
  count(read: () => readonly MetricSample[]): { stop(): Promise<void> }
  /** Text of the metrics of all workers. Throws `UnavailableError` if it does not come. */
  scrape(): Promise<string>
}

/** How often figures are said unasked: a worker that is killed takes at most so many with it. */
const TELL_MS = 2_000
const SCRAPE_MS = 2_000

/** What this process is as a worker; undefined if it was started by a person or a supervisor. */
export function findWorker(environment: Readonly<Record<string, string | undefined>>): Worker | undefined {
  const text = environment[WORKER_VARIABLE]
  if (text === undefined || process.send === undefined) return undefined
  const place: WorkerAssignment = JSON.parse(text)
  const stop = new AbortController()
  const scraped = new Map<number, (text: string) => void>()
  let read: () => readonly MetricSample[] = () => []
  let scrapes = 0

  function heard(message: SupervisorMessage): void {
    if (message.kind === 'stop') stop.abort(message.reason)
    else if (message.kind === 'count') void say({ kind: 'figures', figures: read(), id: message.id })
    else scraped.get(message.id)?.(message.text)
  }

  process.on('message', heard)
  process.on('disconnect', () => stop.abort('the process that started it is gone'))
  return {
    ...place,
    stop: stop.signal,
    listens: (ports) => void say({ kind: 'listens', ...ports }),
    count(figures) {
      read = figures
      const tell = () => say({ kind: 'figures', figures: read() })
      const timer = setInterval(tell, TELL_MS)
      return {
        stop() {
          clearInterval(timer)
          return tell()
        },
      }
    },
    scrape() {
      const id = ++scrapes
      return new Promise<string>((resolve, reject) => {
        const timer = setTimeout(() => reject(new UnavailableError('The workers could not be counted')), SCRAPE_MS)
        scraped.set(id, (all) => {
          clearTimeout(timer)
          resolve(all)
        })
        void say({ kind: 'scrape', id })
      }).finally(() => scraped.delete(id))
    },
  }
}

/** Resolves once the message has left, or cannot: the other end is gone then, and the worker is about to stop. */
function say(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, undefined, undefined, () => resolve())
    else resolve()
  })
}
