import type { MetricSample } from '../../lib/metrics.ts'

/** Variable by which a worker is told what it is; set by the process that starts it, and by nobody else. */
export const WORKER_VARIABLE = 'WALLETSCOPE_WORKER'

/** Ports that were opened. */
export interface Ports {
  readonly port: number
  readonly operatorPort: number | undefined
}

/** What a worker is told when it starts. */
export interface WorkerAssignment {
  /** From 1; a worker that is started again has the place of the one before. */
  readonly place: number
  readonly workers: number
  /** Of the embedded database; absent: as configured. */
  readonly databaseUrl?: string
  /** Those of the others, to be shared; absent: as configured. */
  readonly ports?: Ports
}

/** What a worker says to the process that started it. */
export type WorkerMessage =
  | ({ readonly kind: 'listens' } & Ports)
  /** Without `id` unasked, now and then, so that little is lost with a worker that dies. */
  | { readonly kind: 'figures'; readonly figures: readonly MetricSample[]; readonly id?: number }
  /** Somebody asks it for the metrics of all. */
  | { readonly kind: 'scrape'; readonly id: number }

/** What it is told. */
export type SupervisorMessage =
  | { readonly kind: 'count'; readonly id: number }
  | { readonly kind: 'scraped'; readonly id: number; readonly text: string }
  | { readonly kind: 'stop'; readonly reason: string }
