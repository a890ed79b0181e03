import { FIRST_START_ACTOR } from '../account/audit.ts'
import { ensureDefaultOrganization } from '../account/organization.ts'
import { createLoginLink } from '../account/session.ts'
import type { Config } from '../config/config.ts'
import { CONNECTIONS_MAX } from '../db/connection/pool.ts'
import type { Database } from '../db/database.ts'
import { type EmbeddedDatabase, startEmbedded } from '../db/embedded/embedded.ts'
import type { Clock } from '../lib/clock.ts'
import { type JobOptions, startJob } from '../lib/job.ts'
import type { Log } from '../lib/log.ts'
import type { Metrics } from '../lib/metrics.ts'
import { diskMetricsJob } from './disk.ts'
import type { Lifecycle } from './process/lifecycle.ts'

/** Results of a first start. `links`: one-time sign-in secrets, for the operator and the organization. */
export type FirstStart = NonNullable<Awaited<ReturnType<typeof createFirstOrganization>>>

/** A little more than the server's own stop limit. */
const STOP_MS = 3_050
/** Connections besides those of the serving processes: command line, backups and `psql`. */
const CONNECTIONS_SPARE = 35

/** Starts the embedded database as a component of the process. `onSpawned` is called once its process runs. */
export async function startEmbeddedDatabase(
  { dataDir, workers }: Pick<Config, 'dataDir' | 'workers'>,
  {
    clock,
    log,
    lifecycle,
    out,
    onSpawned = () => {},
  }: {
    readonly clock: Clock
    readonly log: Log
    readonly lifecycle: Lifecycle
    readonly onSpawned?: () => void
    readonly out?: ((text: string) => void) | undefined
  },
): Promise<EmbeddedDatabase> {
  const settings = { max_connections: String(CONNECTIONS_SPARE + workers * CONNECTIONS_MAX) }
  const onProgress = (step: string) => out?.(`${step} …`)
  return await lifecycle.start({
    name: 'embedded PostgreSQL',
    start: () => startEmbedded({ dataDir, clock, log, onProgress, onSpawned, settings }),
    stop: (started) => started.close(),
    limitMs: STOP_MS,
  })
}

/** Starts the looks at how much room the embedded database has. */
export async function startDiskMetrics(
  { dataDir }: Pick<Config, 'dataDir'>,
  {
    log,
    lifecycle,
    metrics,
    jobs,
  }: {
    readonly log: Log
    readonly lifecycle: Lifecycle
    readonly metrics: Metrics
    readonly jobs: JobOptions
  },
): Promise<void> {
  await lifecycle.start({
    name: 'disk',
    start: () => startJob(diskMetricsJob(metrics, { dataDir, log, clock: jobs.clock }), jobs),
    stop: async (job) => job.stop(),
  })
}

/** Creates the first organization of an empty embedded database, and its key. */
export async function createFirstOrganization(db: Database) {
  const created = await ensureDefaultOrganization(db)
  if (created === undefined) return undefined
  const [operator, organization] = await Promise.all([
    createLoginLink(db, { organizationId: null, by: FIRST_START_ACTOR }),
    createLoginLink(db, { organizationId: created.organizationId, by: FIRST_START_ACTOR }),
  ])
  return { ...created, links: { operator: operator.secret, organization: organization.secret } }
}
