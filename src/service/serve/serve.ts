import type { HattipHandler } from '@hattip/core'
import type { Config } from '../../config/config.ts'
import type { ListeningServer } from '../../http/server/listening.ts'
import { whenAborted } from '../../lib/async/abort.ts'
import { systemClock } from '../../lib/clock.ts'
import { createLog } from '../../lib/log.ts'
import { createServices } from '../mod.ts'
import { createLifecycle } from '../process/lifecycle.ts'
import { findWorker, type Worker } from '../process/worker.ts'
import { logListening, printFirstStart } from './announce.ts'
import { freeFilesWhenFull } from './open_files.ts'
import type { ServeOptions, StartOptions } from './options.ts'
import { openPort } from './port.ts'
import { startWorkers } from './workers.ts'

/** How long the last answers may take to reach their callers, milliseconds. */
const ANSWERS_MS = 500
const STOP_SPARE_MS = 50

/**
 * Serves until `stop` fires, then in order: not ready, no new connections, accepted requests finished and charged,
 * everything closed, within ten seconds after `drainMs` even if something hangs.
 */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const clock = systemClock
  const worker = findWorker(options.environment, clock)
  const log = createLog({
    level: config.logLevel,
    write: options.err,
    clock,
    fields: { worker: worker?.workerNumber },
  })
  const lifecycle = createLifecycle({ clock, log })
  const stop = worker === undefined ? options.stop : AbortSignal.any([options.stop, worker.stop])
  const startOptions = { ...options, stop, clock, log, lifecycle }
  try {
    if (worker !== undefined) await startServing({ ...config, ...overrideConfig(worker, config) }, startOptions, worker)
    else if (config.workers > 1) await startWorkers(config, startOptions)
    else await startServing(config, startOptions)
    await whenAborted(stop)
    log.info({ msg: 'Stopping', signal: String(stop.reason) })
  } finally {
    await lifecycle.stop()
  }
  log.info({ msg: 'Stopped' })
}

/** Applies a worker's assignment to the configuration. */
function overrideConfig(
  { databaseUrl, ports }: Worker,
  config: Config,
): Pick<Config, 'databaseUrl' | 'port' | 'operatorPort'> {
  return { ...(ports ?? config), databaseUrl: databaseUrl ?? config.databaseUrl }
}

async function startServing(
  config: Config,
  { listen, out, clock, log, lifecycle }: StartOptions,
  worker?: Worker,
): Promise<void> {
  const { host, port, operatorPort } = config
  // Stops last: a server ends when its last answer is sent.
  const stopping = await lifecycle.start({
    name: 'last answers',
    start: (): Promise<void>[] => [],
    stop: (each) => Promise.all(each),
    limitMs: ANSWERS_MS,
  })
  const { app, createFirstOrganization, logUnresponsiveEndpoints } = await createServices(config, {
    clock,
    log,
    lifecycle,
    out,
    worker,
  })
  const openServer = (
    handler: HattipHandler,
    options: { readonly name: string; readonly port: number },
  ): Promise<ListeningServer> =>
    lifecycle.start({
      name: options.name,
      start: () => openPort(handler, { listen, host, ...options, shared: worker !== undefined, clock }),
      // Not awaited here: the component that finishes its requests stops next.
      stop: (served) => void stopping.push(served.stop()),
    })
  const server = await openServer(app.handler, { name: 'PORT', port })
  const operator =
    operatorPort === undefined
      ? undefined
      : await openServer(app.operator, { name: 'OPERATOR_PORT', port: operatorPort })
  await lifecycle.start({
    name: 'open files',
    start: () => freeFilesWhenFull(operator === undefined ? [server] : [server, operator], { clock, log }),
    stop: (end) => end(),
  })
  const listens = { port: server.port, operatorPort: operator?.port }
  // Last, because a later failure would lose the key before it is shown.
  const first = await createFirstOrganization()
  if (first !== undefined) printFirstStart(config, first, listens, out)
  await lifecycle.start({
    name: 'readiness',
    start: () => app,
    async stop() {
      app.drain()
      // Load balancers need this time to notice the change; an orphan only keeps the port from its successor.
      await clock.sleep(config.drainMs, worker?.orphaned).catch(() => {})
    },
    limitMs: config.drainMs + STOP_SPARE_MS,
  })
  if (worker === undefined) logListening(config, listens, { log, out })
  else worker.reportListening(listens)
  if (worker === undefined || worker.workerNumber === 1) void logUnresponsiveEndpoints()
}
