import { join } from 'node:path'
import { createGate } from './account/gate.ts'
import { ensureDefaultOrganization } from './account/organization.ts'
import { startRetention } from './account/retention.ts'
import { usageRoutes } from './account/routes.ts'
import { createChainClient, type EvmClient } from './chain/evm.ts'
import { createRpcMetrics, type RpcRecorder } from './chain/rpc_metrics.ts'
import { createSolanaClient, SOLANA_CHAIN_ID, type SolanaClient } from './chain/solana.ts'
import type { Config } from './config.ts'
import type { Database } from './db/database.ts'
import { type EmbeddedDatabase, startEmbedded } from './db/embedded/embedded.ts'
import { checkSchema, migrate, SchemaError } from './db/migrate.ts'
import { openDatabase } from './db/pool.ts'
import { FAMILY_ALIASES } from './family/alias.ts'
import { createFamilies } from './family/mod.ts'
import { canonicalPath } from './http/alias.ts'
import { type App, createApp } from './http/app.ts'
import { openapiDocument } from './http/openapi.ts'
import type { Probe } from './http/probes.ts'
import type { Route } from './http/route.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import type { Log } from './lib/log.ts'
import { createMetrics } from './lib/metrics.ts'
import { createRequestIds } from './lib/request_id.ts'

/** Everything that serves, built once from configuration. */
export interface Services {
  readonly app: App
  /** The first start of an empty embedded database: its organization, and its key, which is never shown again. */
  readonly first: { readonly organizationId: string; readonly key: string; readonly credits: number } | undefined
  /** Finishes what is accepted and closes everything, within about nine seconds whatever hangs. */
  close(): Promise<void>
}

/** What `createServices` is given besides configuration. */
export interface ServicesOptions {
  readonly log: Log
  /** Told of each slow step of a first start, in words for a person. */
  readonly onProgress?: (step: string) => void
}

/** One client per chain: EVM chains by id, and Solana where it is served. */
interface Clients {
  readonly evm: ReadonlyMap<number, EvmClient>
  readonly solana: SolanaClient | undefined
}

/** How long accepted requests may take to finish on their own, then how long once their reads are ended. */
const FINISH_MS = 3_000
const CANCEL_MS = 500
const GATE_CLOSE_MS = 1_000

/**
 * Builds the service. The embedded database is started and migrated here; one behind `DATABASE_URL` may be away, the
 * service then starts and is not ready. Throws `SchemaError` where that database is not migrated.
 */
export async function createServices(config: Config, options: ServicesOptions): Promise<Services> {
  const clock = systemClock
  const { log } = options
  const embedded = config.databaseUrl === undefined ? await startOwnDatabase(config, options) : undefined
  const db = openDatabase({ url: config.databaseUrl ?? embedded?.url ?? '', clock, log })
  try {
    if (embedded !== undefined) await migrate(db)
    else await checkSchemaIfReached()
  } catch (error) {
    await db.close()
    await embedded?.close()
    throw error
  }
  const first = embedded === undefined ? undefined : await ensureDefaultOrganization(db)

  const metrics = createMetrics()
  const gate = await createGate({ db, clock, log, journalDir: join(config.dataDir, 'journal'), metrics })
  const retention = startRetention({ db, log, days: config.logRetentionDays })
  const clients = createClients(config, { clock, log, recorder: createRpcMetrics(metrics) })
  const routes = createRoutes({ config, clients, db, clock, log })
  const app = createApp({
    routes,
    aliases: FAMILY_ALIASES,
    gate,
    clock,
    log,
    metrics,
    publicUrl: config.publicUrl,
    corsOrigins: config.corsOrigins,
    probes: {
      database: schemaProbe(db, log),
      chains: chainProbes(clients),
    },
    openapi: openapiText(routes, config),
    requestId: createRequestIds({ clock, fill: (bytes) => crypto.getRandomValues(bytes) }),
  })

  async function checkSchemaIfReached(): Promise<void> {
    try {
      await checkSchema(db)
    } catch (error) {
      if (error instanceof SchemaError) throw error
      log.warn({ msg: 'Started without the database: not ready until it answers', reason: String(error) })
    }
  }

  return {
    app,
    first,
    async close() {
      if (!(await app.idle({ deadlineMs: FINISH_MS }))) {
        app.cancel()
        await app.idle({ deadlineMs: CANCEL_MS })
      }
      retention.stop()
      await gate.close(GATE_CLOSE_MS)
      for (const client of clients.evm.values()) client.close()
      await db.close()
      await embedded?.close()
    },
  }
}

/** The OpenAPI document of everything that this configuration serves. */
export function describeServices(config: Config, log: Log): string {
  const clients = createClients(config, { clock: systemClock, log, recorder: () => () => {} })
  const db: Database = { run: () => Promise.reject(new Error('Cannot read: only described')), close: async () => {} }
  const text = openapiText(createRoutes({ config, clients, db, clock: systemClock, log }), config)
  for (const client of clients.evm.values()) client.close()
  return text
}

function createRoutes(parts: {
  readonly config: Config
  readonly clients: Clients
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
}): readonly Route[] {
  const { config, clients, db, ...services } = parts
  const families = createFamilies({
    ...services,
    clients: clients.evm,
    ...config.deployments,
    kamino: { solana: clients.solana, program: config.solana.program },
  })
  return [
    ...families.flatMap((family) => family.routes),
    ...usageRoutes({ db, canonicalPath: (path) => canonicalPath(path, FAMILY_ALIASES) }),
  ]
}

function openapiText(routes: readonly Route[], { publicUrl }: Config): string {
  return openapiDocument({ routes, ...(publicUrl === undefined ? {} : { publicUrl }) })
}

function createClients(
  { chains, solana: { rpcUrls } }: Config,
  {
    recorder,
    ...shared
  }: { readonly clock: Clock; readonly log: Log; readonly recorder: (chainId: number) => RpcRecorder },
): Clients {
  const evm = chains.map((chain) => createChainClient({ chain, record: recorder(chain.id), ...shared }))
  const solana =
    rpcUrls.length === 0 ? undefined : createSolanaClient({ rpcUrls, record: recorder(SOLANA_CHAIN_ID), ...shared })
  return { evm: new Map(evm.map((client) => [client.chain.id, client])), solana }
}

/** True where the schema is this program's; where it is another's, the log says so each time that it changes its mind. */
function schemaProbe(db: Database, log: Log): Probe {
  let said = ''
  return async () => {
    try {
      await checkSchema(db)
      said = ''
      return true
    } catch (error) {
      if (error instanceof SchemaError && error.message !== said) {
        said = error.message
        log.error({ msg: 'Found the database unfit to serve', reason: said })
      }
      return false
    }
  }
}

function chainProbes({ evm, solana }: Clients): ReadonlyMap<number, Probe> {
  const probes = new Map<number, Probe>([...evm].map(([id, client]) => [id, (signal) => client.ready(signal)]))
  if (solana !== undefined) probes.set(SOLANA_CHAIN_ID, (signal) => solana.ready(signal))
  return probes
}

function startOwnDatabase(config: Config, { log, onProgress }: ServicesOptions): Promise<EmbeddedDatabase> {
  return startEmbedded({
    dataDir: config.dataDir,
    clock: systemClock,
    log,
    ...(onProgress === undefined ? {} : { onProgress }),
  })
}
