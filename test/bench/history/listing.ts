import { readFileSync } from 'node:fs'
import { createGate } from '../../../src/account/gate/gate.ts'
import { readConfig } from '../../../src/config/config.ts'
import { openDatabase } from '../../../src/db/connection/pool.ts'
import { createHistory } from '../../../src/history/mod.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { serveBun } from '../../../src/http/server/bun.ts'
import { createWork, type Work } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { createLog } from '../../../src/lib/log.ts'
import { createMetrics } from '../../../src/lib/metrics.ts'
import { createRequestIdGenerator } from '../../../src/lib/request_id.ts'
import { createClients } from '../../../src/service/clients.ts'
import { createServiceRoutes } from '../../../src/service/routes.ts'
import { EMITTED, toTarget } from '../../support/history/scene.ts'
import { createFixedClock } from '../../support/test_clock.ts'
import { createOrganizations } from '../organizations.ts'

/**
 * The service's routes as `serve` builds them, and scans of history through the same endpoints when told to. One command
 * a line on stdin, one line of JSON back.
 */

/** Commands of the process. */
export interface ListingCommand {
  readonly scan: boolean
}

/** Message once it listens. */
export interface ListingReady {
  readonly port: number
  readonly keys: readonly string[]
}

/** Reply to every command: useful requests for logs since the previous command. */
export interface ListingCounts {
  readonly requests: number
}

await main()

async function main(): Promise<void> {
  const config = readConfig(process.env, (path) => readFileSync(path, 'utf8'))
  const log = createLog({
    level: 'error',
    write: (line) => process.stderr.write(`${line}\n`),
    clock: createFixedClock(),
  })
  const db = openDatabase({ url: config.databaseUrl ?? '', clock: systemClock, log })
  const clients = createClients(config, { clock: systemClock, log, recorder: () => () => {} })
  let requests = 0
  const holder = `listing_${process.pid}`
  const history = createHistory({
    clients: clients.evm,
    db,
    clock: systemClock,
    log,
    holder,
    recorder: {
      recordRequest: (_, outcome) => {
        if (outcome === 'useful') requests++
      },
      recordStored: () => {},
      recordHealed: () => {},
    },
  })
  const connect = () => ({ clients: clients.evm, solana: clients.solana, db, holder, history, clock: systemClock, log })
  const gate = await createGate({ db, clock: systemClock, log, journalDir: process.env['BENCH_JOURNAL'] ?? '' })
  const app = createApp({
    routes: createServiceRoutes(config, connect),
    aliases: new Map(),
    gate,
    clock: systemClock,
    log,
    metrics: createMetrics(),
    hostNames: [],
    corsOrigins: [],
    openapi: () => '{}',
    probes: { database: async () => true, chains: new Map() },
    requestId: createRequestIdGenerator({ clock: systemClock, fill: (bytes) => crypto.getRandomValues(bytes) }),
  })
  const [key = ''] = await createOrganizations(db, 1)
  const server = serveBun(app, { port: 0, host: '127.0.0.1' })
  console.log(JSON.stringify({ port: server.port, keys: [key] } satisfies ListingReady))

  const [chainId = 0] = clients.evm.keys()
  let scans = 0
  let stopping = new AbortController()
  let scanning: Promise<void> = Promise.resolve()

  /** One scan after another, each under a name of its own, so that nothing of it is stored yet. */
  async function scanOn(work: Work): Promise<void> {
    while (!work.signal.aborted) {
      const stream = { ...EMITTED, name: `beside_${process.pid}_${scans++}` }
      await history.complete({ stream, target: toTarget(chainId) }, work).catch((error) => {
        if (!work.signal.aborted) throw error
      })
    }
  }

  for await (const line of console) {
    if (line === '') continue
    const { scan } = JSON.parse(line) as ListingCommand
    stopping.abort()
    await scanning
    stopping = new AbortController()
    console.log(JSON.stringify({ requests } satisfies ListingCounts))
    requests = 0
    if (scan) scanning = scanOn(createWork(stopping.signal))
  }
  stopping.abort()
  await scanning
  await server.stop()
  await history.close()
  for (const client of clients.evm.values()) client.close()
  await gate.close(1_000)
  await db.close()
  process.exit(0)
}
