import type { Config } from '../../config/config.ts'
import { openDatabase } from '../../db/connection/pool.ts'
import { migrate } from '../../db/migrate.ts'
import { whenAborted } from '../../lib/async/abort.ts'
import { createMetrics } from '../../lib/metrics.ts'
import { createFirstOrganization, startEmbeddedDatabase } from '../embedded_database.ts'
import { createProcessMetrics } from '../health/metrics.ts'
import { createWorkerPool } from '../process/worker_pool.ts'
import { logListening, printFirstStart } from './announce.ts'
import type { StartOptions } from './options.ts'
import { claimPort } from './port.ts'

/** Maximum stop time of a worker after its drain; with the embedded database it stays below ten seconds. */
const STOP_MS = 6_750
const STOP_SPARE_MS = 50

/** Starts the embedded database, if configured, and the workers. */
export async function startWorkers(
  config: Config,
  { listen, fork, environment, out, stop, clock, log, lifecycle }: StartOptions,
): Promise<void> {
  const { host, port, operatorPort, workers, databaseUrl, drainMs } = config
  await lifecycle.start({
    name: 'claims of ports',
    start: () => claimPorts({ listen, host, port, operatorPort, clock }),
    stop(releases) {
      for (const release of releases) release()
    },
  })
  const metrics = createMetrics()
  createProcessMetrics(metrics, clock)
  const embedded =
    databaseUrl === undefined ? await startEmbeddedDatabase(config, { clock, log, lifecycle, out }) : undefined
  const db = embedded === undefined ? undefined : openDatabase({ url: embedded.url, clock, log })
  if (db !== undefined) await migrate(db)
  const stopMs = drainMs + STOP_MS
  const pool = await lifecycle.start({
    name: 'workers',
    start: () =>
      createWorkerPool({ fork, environment, workers, databaseUrl: embedded?.url, metrics, stopMs, clock, log }),
    stop: (made) => made.stop(String(stop.reason)),
    limitMs: stopMs + STOP_SPARE_MS,
  })
  const listens = await Promise.race([pool.start(), whenAborted(stop)])
  if (listens === undefined) return
  // Last, because a later failure would lose the key before it is shown.
  const first = db === undefined ? undefined : await createFirstOrganization(db)
  if (first !== undefined) printFirstStart(config, first, listens, out)
  await db?.close()
  logListening(config, listens, { log, out })
}

async function claimPorts({
  port,
  operatorPort,
  ...address
}: Pick<StartOptions, 'listen' | 'clock'> & Pick<Config, 'host' | 'port' | 'operatorPort'>): Promise<(() => void)[]> {
  const release = await claimPort({ ...address, name: 'PORT', port })
  if (operatorPort === undefined) return [release]
  return [release, await claimPort({ ...address, name: 'OPERATOR_PORT', port: operatorPort })]
}
