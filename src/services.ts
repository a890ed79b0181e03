import { join } from 'node:path'
import { createGate } from './account/gate/gate.ts'
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
import type { FamilyServices } from './family/family.ts'
import { familyAliases } from './family/mod.ts'
import { type App, createApp } from './http/app.ts'
import { openapiDocument } from './http/openapi.ts'
import type { Probe } from './http/plane/probes.ts'
import type { Route } from './http/route.ts'
import { createRouteTable } from './http/route_table.ts'
import { type Clock, systemClock } from './lib/clock.ts'
import type { Log } from './lib/log.ts'
import { createMetrics } from './lib/metrics.ts'
import { createRequestIds } from './lib/request_id.ts'

/** Everything that serves, built once from configuration. */
export interface Services {
  readonly app: App
  /**
   * On an empty embedded database makes the first organization and its key, which nobody can ever ask for again: to be
   * called when nothing is left that could fail. Otherwise nothing.
   */
  createFirst(): Promise<First | undefined>
  /** Finishes what is accepted and closes everything, within about nine seconds whatever hangs. */
  close(): Promise<void>
}

/** What the first start of an empty embedded database makes. */
export interface First {
  readonly organizationId: string
  readonly key: string
  readonly credits: number
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
  const metrics = createMetrics()
  const clients = createClients(config, { clock, log, recorder: createRpcMetrics(metrics) })
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

  const gate = await createGate({ db, clock, log, journalDir: join(config.dataDir, 'journal'), metrics })
  const retention = startRetention({ db, log, days: config.logRetentionDays })
  const routes = routesOf(config, () => ({ clients: clients.evm, solana: clients.solana, db, clock, log }))
  const app = createApp({
    routes,
    aliases: familyAliases(config.families),
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
    operatorApart: config.operatorPort !== undefined,
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
    createFirst: async () => (embedded === undefined ? undefined : ensureDefaultOrganization(db)),
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

/** The OpenAPI document of everything that this configuration serves; nothing is connected for it. */
export function describeServices(config: Config): string {
  const connect = () => {
    throw new Error('Cannot read: the routes are only described')
  }
  return openapiText(routesOf(config, connect), config)
}

/** All routes. They ask for the services when they first read. */
function routesOf(config: Config, connect: () => FamilyServices & { readonly db: Database }): readonly Route[] {
  const { families, chains, solana } = config
  const setup = { chainIds: chains.map(({ id }) => id), servesSolana: solana.rpcUrls.length > 0, connect }
  // The log's filter looks paths up in a table that its own route stands in.
  const usage = usageRoutes({ db: () => connect().db, templateOf: (path) => table.templateOf(path) })
  const routes = [...families.flatMap((family) => family.routes(setup)), ...usage]
  const table = createRouteTable(routes, familyAliases(families))
  return routes
}

function openapiText(routes: readonly Route[], { publicUrl, operatorPort }: Config): string {
  return openapiDocument({ routes, publicUrl, operatorApart: operatorPort !== undefined })
}

function createClients(
  { chains, solana: { rpcUrls, maxSlotAgeSec, slotMs } }: Config,
  {
    recorder,
    ...shared
  }: { readonly clock: Clock; readonly log: Log; readonly recorder: (chainId: number) => RpcRecorder },
): Clients {
  const evm = chains.map((chain) => createChainClient({ chain, record: recorder(chain.id), ...shared }))
  const solana =
    rpcUrls.length === 0
      ? undefined
      : createSolanaClient({
          ...{ rpcUrls, maxSlotAgeSec, slotMs },
          ...{ record: recorder(SOLANA_CHAIN_ID), ...shared },
        })
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
