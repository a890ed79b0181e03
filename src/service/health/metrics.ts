import packageJson from '../../../package.json' with { type: 'json' }
import { midnightNewestList, organizationCountLow } from '../../../sql/queries.ts'
import type { EndpointReport } from '../../chain/rpc/rotation/rotation.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import type { DatabasePool } from '../../db/connection/pool.ts'
import type { Database } from '../../db/database.ts'
import type { Job } from '../../job/job.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { Clients } from '../clients.ts'

const FIGURES_MS = 60_000
const DAY_MS = 86_400_000
const DAY_SEC = 86_400

/** Registers what is known of the process itself, under the names that Prometheus' own clients use. */
export function createProcessMetrics(metrics: Metrics, clock: Clock): void {
  const startedSec = clock.now() / 1_000
  metrics.gauges({
    name: 'walletscope_build_info',
    help: '1, by version.',
    labels: ['version'],
    together: 'most',
    read: () => [[[packageJson.version], 1]],
  })
  metrics.total({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of this process, user and system.',
    read: () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
  })
  metrics.gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory that this process has in RAM; the embedded PostgreSQL has its own.',
    read: () => process.memoryUsage.rss(),
  })
  metrics.gauge({
    name: 'process_start_time_seconds',
    help: 'Start of this process, Unix time.',
    together: 'least',
    read: () => startedSec,
  })
}

/** Registers how the connections to the database do. */
export function createDatabaseMetrics(metrics: Metrics, db: Pick<DatabasePool, 'report'>): void {
  metrics.gauge({
    name: 'walletscope_database_up',
    help: '0 from a statement that failed because the database was away until one succeeds, else 1.',
    together: 'least',
    read: () => (db.report().every(({ reached }) => reached) ? 1 : 0),
  })
  metrics.gauges({
    name: 'walletscope_database_statements_running',
    help: 'Statements under way, by lane.',
    labels: ['lane'],
    read: () => db.report().map(({ name, running }) => [[name], running]),
  })
  metrics.gauges({
    name: 'walletscope_database_statements_waiting',
    help: 'Statements that wait for a connection, by lane.',
    labels: ['lane'],
    read: () => db.report().map(({ name, waiting }) => [[name], waiting]),
  })
  metrics.totals({
    name: 'walletscope_database_wait_seconds_total',
    help: 'Time that statements have waited for a connection, by lane.',
    labels: ['lane'],
    read: () => db.report().map(({ name, waitedMs }) => [[name], waitedMs / 1_000]),
  })
}

/** Registers how far chains are, as their endpoints have shown it last: nobody is asked for it. */
export function createChainMetrics(metrics: Metrics, { clients, clock }: { clients: Clients; clock: Clock }): void {
  const heads = () => reportsOf(clients).flatMap(([id, endpoints]) => headOf(id, endpoints))
  const eachEndpoint = (read: (endpoint: EndpointReport) => number | undefined) => () =>
    reportsOf(clients).flatMap(([id, endpoints]) =>
      endpoints.flatMap((endpoint, index) => {
        const value = read(endpoint)
        return value === undefined ? [] : [[[id, index + 1], value] as const]
      }),
    )
  const labels = ['chain_id', 'endpoint']
  metrics.gauges({
    name: 'walletscope_chain_head_block',
    help: 'Newest block, or slot, that an endpoint has shown.',
    labels: ['chain_id'],
    together: 'most',
    read: () => heads().map(({ id, number }) => [[id], number]),
  })
  metrics.gauges({
    name: 'walletscope_chain_head_age_seconds',
    help: 'Age of that block now; it grows while nobody asks for the chain.',
    labels: ['chain_id'],
    together: 'least',
    read: () => heads().map(({ id, timestampSec }) => [[id], Math.max(0, clock.now() / 1_000 - timestampSec)]),
  })
  metrics.gauges({
    name: 'walletscope_rpc_endpoint_up',
    help: '1 while an endpoint, by its place in the configuration from 1, is asked first; 0 while it fails or is removed.',
    labels,
    together: 'least',
    read: eachEndpoint(({ state }) => (state === 'ready' ? 1 : 0)),
  })
  metrics.gauges({
    name: 'walletscope_rpc_endpoint_head_block',
    help: 'Newest block, or slot, that an endpoint has shown, by its place in the configuration from 1.',
    labels,
    together: 'most',
    read: eachEndpoint(({ head }) => (head === undefined ? undefined : Number(head.number))),
  })
}

function reportsOf({ evm, solana }: Clients): readonly (readonly [number, readonly EndpointReport[]])[] {
  const reports = [...evm].map(([id, client]) => [id, client.report()] as const)
  return solana === undefined ? reports : [...reports, [SOLANA_CHAIN_ID, solana.report()]]
}

/** The newest of a chain's endpoints, if one has shown a block. */
function headOf(id: number, endpoints: readonly EndpointReport[]) {
  const heads = endpoints.flatMap(({ head }) => head ?? [])
  const [newest] = heads.toSorted((a, b) => Number(b.number - a.number))
  return newest === undefined ? [] : [{ id, number: Number(newest.number), timestampSec: Number(newest.timestampSec) }]
}

/** Registers figures of the database, which a job reads every minute: what `render` reads cannot wait. */
export function databaseMetricsJob(
  metrics: Metrics,
  { db, clock, log }: { readonly db: Database; readonly clock: Clock; readonly log: Log },
): Job {
  let low = 0
  let midnights: readonly (readonly [labels: readonly string[], value: number])[] = []
  metrics.gauge({
    name: 'walletscope_organizations_low_on_credits',
    help: 'Organizations with less credits left than they spent since yesterday began (UTC).',
    together: 'most',
    read: () => low,
  })
  metrics.gauges({
    name: 'walletscope_midnight_timestamp_seconds',
    help: 'Newest UTC midnight whose block is known, for snapshots, by chain.',
    labels: ['chain_id'],
    together: 'most',
    read: () => midnights,
  })
  return {
    name: 'figures',
    everyMs: FIGURES_MS,
    retryMs: { least: FIGURES_MS, most: FIGURES_MS },
    async round() {
      const [counted] = await organizationCountLow(db, { fromDay: Math.floor(clock.now() / DAY_MS) - 1 })
      low = counted?.total ?? 0
      midnights = (await midnightNewestList(db, {})).map(({ chain_id: id, day }) => [[id], day * DAY_SEC] as const)
      return undefined
    },
    failed: (error) => log.error({ msg: 'Could not read figures for the metrics', error }),
  }
}
