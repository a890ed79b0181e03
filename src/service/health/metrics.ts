import packageJson from '../../../package.json' with { type: 'json' }
import { midnightNewestList, organizationCountLow } from '../../../sql/queries.ts'
import type { EndpointReport } from '../../chain/rpc/rotation.ts'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import type { DatabasePool } from '../../db/connection/pool.ts'
import type { Database } from '../../db/database.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Job } from '../../lib/job.ts'
import type { Log } from '../../lib/log.ts'
import type { Metrics } from '../../lib/metrics.ts'
import type { Clients } from '../clients.ts'

const FIGURES_MS = 60_000
const DAY_MS = 86_400_000
const DAY_SEC = 86_400

/** Registers metrics of the process, under the names that Prometheus' own clients use. */
export function createProcessMetrics(metrics: Metrics, clock: Clock): void {
  const startedSec = clock.now() / 1_000
  metrics.gauges({
    name: 'walletscope_build_info',
    help: '1, by version.',
    labels: ['version'],
    aggregation: 'most',
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
    help: 'Resident memory of this process; the embedded PostgreSQL has its own.',
    read: () => process.memoryUsage.rss(),
  })
  metrics.gauge({
    name: 'process_start_time_seconds',
    help: 'Start of this process, Unix time.',
    aggregation: 'least',
    read: () => startedSec,
  })
}

/** Registers metrics of the database connections. */
export function createDatabaseMetrics(metrics: Metrics, db: Pick<DatabasePool, 'report'>): void {
  metrics.gauge({
    name: 'walletscope_database_up',
    help: '0 after a statement failed because the database was unreachable, until one succeeds, else 1.',
    aggregation: 'least',
    read: () => (db.report().every(({ isReachable }) => isReachable) ? 1 : 0),
  })
  metrics.gauges({
    name: 'walletscope_database_statements_running',
    help: 'Running statements, by lane.',
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

/** Registers the newest blocks that endpoints have returned; sends no requests. */
export function createChainMetrics(metrics: Metrics, { clients, clock }: { clients: Clients; clock: Clock }): void {
  const heads = () => listReports(clients).flatMap(([id, endpoints]) => findNewestHead(id, endpoints))
  const eachEndpoint = (read: (endpoint: EndpointReport) => number | undefined) => () =>
    listReports(clients).flatMap(([id, endpoints]) =>
      endpoints.flatMap((endpoint, index) => {
        const value = read(endpoint)
        return value === undefined ? [] : [[[id, index + 1], value] as const]
      }),
    )
  const labels = ['chain_id', 'endpoint']
  metrics.gauges({
    name: 'walletscope_chain_head_block',
    help: 'Newest block, or slot, that an endpoint has returned.',
    labels: ['chain_id'],
    aggregation: 'most',
    read: () => heads().map(({ id, number }) => [[id], number]),
  })
  metrics.gauges({
    name: 'walletscope_chain_head_age_seconds',
    help: 'Age of that block; it grows while the chain gets no requests.',
    labels: ['chain_id'],
    aggregation: 'least',
    read: () => heads().map(({ id, timestampSec }) => [[id], Math.max(0, clock.now() / 1_000 - timestampSec)]),
  })
  metrics.gauges({
    name: 'walletscope_rpc_endpoint_up',
    help: '1 while an endpoint, by its position in the configuration from 1, is used; 0 while it fails or is removed.',
    labels,
    aggregation: 'least',
    read: eachEndpoint(({ state }) => (state === 'ready' ? 1 : 0)),
  })
  metrics.gauges({
    name: 'walletscope_rpc_endpoint_head_block',
    help: 'Newest block, or slot, that an endpoint has returned, by its position in the configuration from 1.',
    labels,
    aggregation: 'most',
    read: eachEndpoint(({ head }) => (head === undefined ? undefined : Number(head.number))),
  })
}

function listReports({ evm, solana }: Clients): readonly (readonly [number, readonly EndpointReport[]])[] {
  const reports = [...evm].map(([id, client]) => [id, client.report()] as const)
  return solana === undefined ? reports : [...reports, [SOLANA_CHAIN_ID, solana.report()]]
}

/** Finds the newest block of a chain's endpoints, if one has returned a block. */
function findNewestHead(id: number, endpoints: readonly EndpointReport[]) {
  const heads = endpoints.flatMap(({ head }) => head ?? [])
  const [newest] = heads.toSorted((a, b) => Number(b.number - a.number))
  return newest === undefined ? [] : [{ id, number: Number(newest.number), timestampSec: Number(newest.timestampSec) }]
}

/** Registers metrics from the database. A job reads them every minute, because rendering must not wait. */
export function databaseMetricsJob(
  metrics: Metrics,
  {
    db,
    clock,
    log,
    midnightChainIds,
  }: {
    readonly db: Database
    readonly clock: Clock
    readonly log: Log
    /** Chains whose midnights are found now; those of others that were served once stay in the database. */
    readonly midnightChainIds: ReadonlySet<number>
  },
): Job {
  let lowCount = 0
  let midnights: readonly (readonly [labels: readonly string[], value: number])[] = []
  metrics.gauge({
    name: 'walletscope_organizations_low_on_credits',
    help: 'Organizations with fewer credits left than they spent since the start of yesterday (UTC).',
    aggregation: 'most',
    read: () => lowCount,
  })
  metrics.gauges({
    name: 'walletscope_midnight_timestamp_seconds',
    help: 'Newest UTC midnight with a known block, for snapshots, by chain.',
    labels: ['chain_id'],
    aggregation: 'most',
    read: () => midnights,
  })
  return {
    name: 'figures',
    everyMs: FIGURES_MS,
    retryMs: { least: FIGURES_MS, most: FIGURES_MS },
    async round() {
      const [row] = await organizationCountLow(db, { fromDay: Math.floor(clock.now() / DAY_MS) - 1 })
      lowCount = row?.total ?? 0
      midnights = (await midnightNewestList(db, {}))
        .filter(({ chain_id: id }) => midnightChainIds.has(Number(id)))
        .map(({ chain_id: id, day }) => [[id], day * DAY_SEC] as const)
      return undefined
    },
    onError: (error) => log.error({ msg: 'Failed to read database metrics', error }),
  }
}
