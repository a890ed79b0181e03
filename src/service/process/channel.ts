import type { MetricSample } from '../../lib/metrics.ts'

/** Variable with a worker's assignment; only the process that starts the worker sets it. */
export const WORKER_VARIABLE = 'WALLETSCOPE_WORKER'

/** Opened ports. */
export interface Ports {
  readonly port: number
  readonly operatorPort: number | undefined
}

/** The assignment of a starting worker. */
export interface WorkerAssignment {
  /** From 1; a restarted worker keeps its number. */
  readonly workerNumber: number
  readonly workers: number
  /** URL of the embedded database; absent: as configured. */
  readonly databaseUrl?: string
  /** Ports to share with the other workers; absent: as configured. */
  readonly ports?: Ports
}

/** Messages of a worker to the process that started it. */
export type WorkerMessage =
  | ({ readonly kind: 'listens' } & Ports)
  /** Without `id` it is a periodic report, so that little is lost with a worker that dies. */
  | { readonly kind: 'figures'; readonly figures: readonly MetricSample[]; readonly id?: number }
  /** The worker got a request for the metrics of all workers. */
  | { readonly kind: 'scrape'; readonly id: number }

/** Messages to a worker. */
export type SupervisorMessage =
  | { readonly kind: 'count'; readonly id: number }
  | { readonly kind: 'scraped'; readonly id: number; readonly text: string }
  | { readonly kind: 'stop'; readonly reason: string }
