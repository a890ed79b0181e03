import { join } from 'node:path'
import { createGate } from '../account/gate/gate.ts'
import { retentionJob } from '../account/retention.ts'
import { createDissentTracker } from '../chain/quorum/dissent_tracker.ts'
import { createRpcMetrics } from '../chain/rpc/metrics.ts'
import { SOLANA_CHAIN_ID } from '../chain/solana/client.ts'
import { type Config, hostNames } from '../config/config.ts'
import { REFERENCE_VERSION, SETUP_SCRIPT } from '../dashboard/docs/setup.ts'
import { DASHBOARD_FILES, DASHBOARD_PAGES, OPERATOR_PAGES, TEXT_STYLES } from '../dashboard/files.ts'
import { GUIDE_NAMES } from '../dashboard/guide/names.ts'
import { type DatabasePool, openDatabase } from '../db/connection/pool.ts'
import { type StandbyPool, withStandby } from '../db/connection/standby.ts'
import type { EmbeddedDatabase } from '../db/embedded/embedded.ts'
import { migrate } from '../db/migrate.ts'
import type { BackgroundWork } from '../family/contract.ts'
import { FAMILIES, familyAliases } from '../family/mod.ts'
import { createFirstBlocks } from '../finance/first_blocks.ts'
import { createHistoryGauge, createHistoryMetrics } from '../history/metrics.ts'
import { createHistory } from '../history/mod.ts'
import { createReference, DOCS_PATH } from '../http/page/docs.ts'
import { createErrorsPage } from '../http/page/errors.ts'
import { createFormulas, FORMULAS_PATH } from '../http/page/formulas.ts'
import type { Pages } from '../http/page/html.ts'
import { createLazyPages } from '../http/page/lazy.ts'
import { createOverview } from '../http/page/overview.ts'
import { createStaticPages } from '../http/page/static.ts'
import { createGuides } from '../http/page/text_page.ts'
import { type App, createApp } from '../http/server/app.ts'
import type { Clock } from '../lib/clock.ts'
import { createJobMetrics, type Job, startJob } from '../lib/job.ts'
import { type Log, silentLog } from '../lib/log.ts'
import { once } from '../lib/memoize.ts'
import { createMetrics } from '../lib/metrics.ts'
import { createRequestIdGenerator } from '../lib/request_id.ts'
import { createMcp } from '../mcp/gateway.ts'
import { createChainReports, historyProbe } from '../operator/report.ts'
import { createWalletNameReader } from '../portfolio/name/routes.ts'
import { createReceiptIssuer } from '../receipt/issuer.ts'
import { presentKeys } from '../receipt/keys.ts'
import { createProofRunner, JOB_MS_MAX } from '../receipt/proof/runner.ts'
import { createSigning } from '../receipt/signing.ts'
import { startDeliveries, startTriggers } from '../trigger/mod.ts'
import { readTriggerProgress } from '../trigger/report.ts'
import { createClients } from './clients.ts'
import { createFirstOrganization, type FirstStart, startDiskMetrics } from './embedded_database.ts'
import {
  createChainMetrics,
  createDatabaseMetrics,
  createProcessMetrics,
  databaseMetricsJob,
} from './health/metrics.ts'
import {
  backgroundProbe,
  chainProbes,
  checkSchemaIfReachable,
  databaseProbe,
  listSolanaCapabilities,
} from './health/probes.ts'
import { logUnresponsiveEndpoints } from './health/start.ts'
import { createPlanes } from './planes.ts'
import type { Lifecycle } from './process/lifecycle.ts'
import type { Worker } from './process/worker.ts'
import { createServiceRoutes, listBackgroundWork, listWatchableFamilies, openapiText } from './routes.ts'

/** The assembled service, built once from configuration. */
export interface Services {
  readonly app: App
  /**
   * On an empty embedded database creates the first organization and its key; otherwise nothing. The key cannot be
   * shown again: call this last, when nothing else can fail.
   */
  createFirstOrganization(): Promise<FirstStart | undefined>
  /** Logs the chain endpoints that do not answer; runs in the background. */
  logUnresponsiveEndpoints(): Promise<void>
}

interface ServicesOptions {
  readonly clock: Clock
  readonly log: Log
  /** Stops the components that `createServices` starts, in reverse order, even if it throws. */
  readonly lifecycle: Lifecycle
  /** The embedded database, where the configuration names no other. */
  readonly embedded?: EmbeddedDatabase | undefined
  /** Absent: this process serves alone. */
  readonly worker?: Worker | undefined
}

/** How long accepted requests may take to finish on their own, and then after their reads are cancelled. */
const FINISH_MS = 2_500
const CANCEL_MS = 500
const GATE_CLOSE_MS = 1_000
const WORK_RETRY_MS = { least: 5_000, most: 60_000 }
/** A little more than the components' own limits. With the limits of `serve` they add up to ten seconds. */
const STOP_LIMITS_MS = { requests: 3_050, gate: 1_050, connections: 1_550 }

/**
 * Builds the service. Migrates the embedded database; a database behind `DATABASE_URL` may be unreachable,
 * the service then starts and is not ready. Throws `SchemaError` if that database is not migrated.
 */
export async function createServices(config: Config, options: ServicesOptions): Promise<Services> {
  const holder = crypto.randomUUID()
  const { clock, log, lifecycle, worker, embedded } = options
  const metrics = createMetrics()
  createProcessMetrics(metrics, clock)
  await lifecycle.start({
    name: 'figures',
    start: () => worker?.startReporting(metrics.readSamples),
    stop: (counting) => counting?.stop(),
  })
  const jobs = { ...createJobMetrics(metrics), clock, random }
  if (embedded !== undefined) await startDiskMetrics(config, { log, lifecycle, metrics, jobs })
  const { db, standby } = await lifecycle.start({
    name: 'database connections',
    start: () => openDatabasePools(config, { url: config.databaseUrl ?? embedded?.url ?? '', clock, log }),
    stop: (pools) => pools.db.close(),
    limitMs: STOP_LIMITS_MS.connections,
  })
  createDatabaseMetrics(metrics, db)
  if (embedded !== undefined) await migrate(db)
  else await checkSchemaIfReachable(db, log)
  const dissents = createDissentTracker({ metrics, clock, log })
  const processes = worker?.workers ?? 1
  const clients = await lifecycle.start({
    name: 'chain clients',
    start: () => createClients(config, { clock, log, recorder: createRpcMetrics(metrics), dissents, processes }),
    stop: (made) => made.close(),
  })
  createChainMetrics(metrics, { clients, clock })
  const runner = await lifecycle.start({
    name: 'proofs',
    start: () => createProofRunner({ clock, jobMsMax: JOB_MS_MAX }),
    stop: async (started) => started.close(),
  })
  const gate = await lifecycle.start({
    name: 'gate',
    start: () =>
      createGate({
        db,
        clock,
        log,
        metrics,
        jobs,
        journalDir: join(config.dataDir, 'journal'),
        featuresOff: config.featuresOff,
      }),
    stop: (started) => started.close(GATE_CLOSE_MS),
    limitMs: STOP_LIMITS_MS.gate,
  })
  const history = await lifecycle.start({
    name: 'history',
    start: () =>
      createHistory({
        clients: clients.evm,
        db,
        clock,
        log,
        holder,
        recorder: createHistoryMetrics(metrics),
        isOff: config.featuresOff.includes('history'),
      }),
    stop: (started) => started.close(),
  })
  createHistoryGauge(metrics, history.listActive)
  const firstBlocks = createFirstBlocks({ db, clock })
  const familyServices = { clients: clients.evm, solana: clients.solana, db, holder, history, firstBlocks, clock, log }
  const connect = () => familyServices
  await lifecycle.start({
    name: 'jobs',
    start: () =>
      [
        retentionJob({ db, log, days: config.logRetentionDays }),
        databaseMetricsJob(metrics, {
          db,
          clock,
          log,
          midnightChainIds: new Set(config.featuresOff.includes('snapshots') ? [] : config.chains.map(({ id }) => id)),
        }),
        toJob({ name: 'first blocks', round: firstBlocks.round }, log),
        ...listBackgroundWork(config, connect).map((work) => toJob(work, log)),
      ].map((job) => startJob(job, jobs)),
    stop(started) {
      for (const job of started) job.stop()
    },
  })
  const signing = createSigning({ db, clock, pem: config.instanceKey })
  const deliveries = await lifecycle.start({
    name: 'deliveries',
    start: () => startDeliveries(config, { db, signing, clock, log, metrics, jobs }),
    stop: (started) => started.stop(),
  })
  const hasTriggers = !config.featuresOff.includes('triggers')
  const watchOptions = {
    families: listWatchableFamilies(config, connect),
    publicUrl: config.publicUrl,
    solanaChainId: clients.solana && SOLANA_CHAIN_ID,
  }
  await lifecycle.start({
    name: 'triggers',
    start: () =>
      hasTriggers
        ? startTriggers({ ...familyServices, ...watchOptions, metrics, jobs, onMessagesQueued: deliveries.wake })
        : undefined,
    stop: (started) => started?.stop(),
  })
  const routes = createServiceRoutes(config, connect, () => deliveries.services)
  const openapi = once(() => openapiText(routes, config))
  const probes = chainProbes(clients)
  const readChains = createChainReports(clients, { probes, clock })
  const readPartitions = async () => (hasTriggers ? readTriggerProgress(db) : [])
  const app = await lifecycle.start({
    name: 'requests',
    start: () =>
      createApp({
        routes,
        aliases: familyAliases(config.families),
        gate,
        gateway: createMcp({
          routes,
          origins: listOrigins(config),
          sessionId: () => crypto.randomUUID(),
          clock,
        }),
        clock,
        log,
        metrics,
        scrape: worker?.scrape,
        hasAccessLog: config.accessLog,
        publicUrl: config.publicUrl,
        hostNames: hostNames(config),
        trustedProxies: config.trustedProxies,
        corsOrigins: config.corsOrigins,
        probes: {
          database: databaseProbe(db, gate, log),
          background: backgroundProbe(db),
          chains: probes,
          history: historyProbe(history),
          quorum: dissents.report,
          triggers: readPartitions,
          solana: () => listSolanaCapabilities(clients),
          standby: standby?.state,
        },
        operatorApart: config.operatorPort !== undefined,
        openapi,
        planes: createPlanes(config, { db, clock, routes, readChains }),
        uiPages: createServicePages(openapi, clock),
        readName: createWalletNameReader({ connect }),
        receiptIssuer: createReceiptIssuer({ config, connect, signer: signing.signer, clock, runner }),
        keys: async () => JSON.stringify(presentKeys(await signing.published())),
        requestId: createRequestIdGenerator({ clock, fill: (bytes) => crypto.getRandomValues(bytes) }),
      }),
    stop: finishRequests,
    limitMs: STOP_LIMITS_MS.requests,
  })
  const drain = () => {
    app.drain()
    deliveries.drain()
  }
  return {
    app: { ...app, drain },
    createFirstOrganization: async () => (embedded === undefined ? undefined : createFirstOrganization(db)),
    logUnresponsiveEndpoints: () => logUnresponsiveEndpoints(clients, log),
  }
}

/** Converts background work of a family to a job. */
function toJob(work: BackgroundWork, log: Log): Job {
  const { name } = work
  return {
    ...work,
    retryMs: WORK_RETRY_MS,
    onError: (error) => log.error({ msg: 'Background work failed', job: name, error }),
  }
}

/** Returns a random number from 0 to below 1. */
function random(): number {
  return (crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) / 2 ** 32
}

/** Opens the database, and the standby for long reads, if one is configured. */
function openDatabasePools(
  { databaseReadUrl, databaseTls: tls }: Config,
  { url, clock, log }: { readonly url: string; readonly clock: Clock; readonly log: Log },
): { readonly db: DatabasePool; readonly standby?: StandbyPool } {
  const primary = openDatabase({ url, tls, clock, log })
  if (databaseReadUrl === undefined) return { db: primary }
  // `withStandby` logs failures of the standby: losing it is not losing the database.
  const copy = openDatabase({ url: databaseReadUrl, tls, clock, log: silentLog })
  const standby = withStandby({ primary, standby: copy }, { clock, log })
  return { db: standby, standby }
}

/** Lets accepted requests finish, then cancels their reads. */
async function finishRequests(app: App): Promise<void> {
  if (await app.idle({ deadlineMs: FINISH_MS })) return
  app.cancel()
  await app.idle({ deadlineMs: CANCEL_MS })
}

/** Lists the origins whose pages may call, including the service's own. */
function listOrigins({ corsOrigins, publicUrl }: Config): readonly string[] {
  return publicUrl === undefined ? corsOrigins : [...corsOrigins, new URL(publicUrl).origin]
}

const loadGuides = async () => (await import('../dashboard/guide/guides.ts')).GUIDES
const loadFormulas = async () => (await import('../dashboard/formulas/formulas.ts')).FORMULAS

/**
 * Web pages for callers and for the operator, with their assets. `openapi` is the source of the API reference and the
 * formulas.
 */
export function createServicePages(
  openapi: () => string,
  clock: Clock,
): { readonly callers: Pages; readonly operator: Pages } {
  const revisions = new Map(FAMILIES.map(({ name, revision }) => [name, revision]))
  const files = DASHBOARD_FILES
  const callers = createStaticPages({ files, pages: DASHBOARD_PAGES })
  const operator = createStaticPages({ files, pages: OPERATOR_PAGES })
  const assets = {
    styles: TEXT_STYLES.map((path) => `${callers.folder}/${path}`),
    icon: `${callers.folder}/icon.svg`,
  }
  const reference = createReference({
    script: async () => (await import('../dashboard/docs/reference.ts')).REFERENCE_SCRIPT,
    version: REFERENCE_VERSION,
    setup: SETUP_SCRIPT,
  })
  return {
    callers: new Map([
      ...callers.pages,
      ...callers.files,
      ...reference,
      ...createLazyPages(DOCS_PATH, async () =>
        createOverview(openapi(), { guides: await loadGuides(), assets, clock }),
      ),
      ...createErrorsPage(assets),
      ...createGuides(GUIDE_NAMES, { load: loadGuides, assets }),
      ...createLazyPages(FORMULAS_PATH, async () =>
        createFormulas(await loadFormulas(), openapi(), { revisions, look: assets }),
      ),
    ]),
    operator: new Map([...operator.pages, ...operator.files]),
  }
}
