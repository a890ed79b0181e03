import { setTimeout as pause } from 'node:timers/promises'
import type { HattipHandler } from '@hattip/core'
import type { ListeningServer } from '../../http/server/listening.ts'
import { whenAborted } from '../../lib/async/abort.ts'
import { createLog } from '../../lib/log.ts'
import type { Config } from '../config/config.ts'
import { createServices } from '../mod.ts'
import { createLifecycle } from '../process/lifecycle.ts'
import { findWorker, type Worker } from '../process/worker.ts'
import { logListening, printFirstStart } from './announce.ts'
import type { BeginOptions, ServeOptions } from './options.ts'
import { openPort } from './port.ts'
import { startWorkers } from './workers.ts'

/** How long the last answers may take to reach their callers. */
const ANSWERS_MS = 500
const STOP_SPARE_MS = 50

/**
 * Serves until `stop` fires, then in order: not ready, no new connections, accepted requests finished and charged,
 * everything closed, within ten seconds after `drainMs` even if something hangs.
 */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const worker = findWorker(options.environment)
  const log = createLog({ level: config.logLevel, write: options.err, fields: { worker: worker?.place } })
  const life = createLifecycle(log)
  const stop = worker === undefined ? options.stop : AbortSignal.any([options.stop, worker.stop])
  const begun = { ...options, stop, log, life }
  try {
    if (worker !== undefined) await begin({ ...config, ...settled(worker, config) }, begun, worker)
    else if (config.workers > 1) await startWorkers(config, begun)
    else await begin(config, begun)
    await whenAborted(stop)
    log.info({ msg: 'Was asked to stop', signal: String(stop.reason) })
  } finally {
    await life.stop()
  }
  log.info({ msg: 'Stopped' })
}

/** What others have decided for a worker. */
function settled(
  { databaseUrl, ports }: Worker,
  config: Config,
): Pick<Config, 'databaseUrl' | 'port' | 'operatorPort'> {
  return { ...(ports ?? config), databaseUrl: databaseUrl ?? config.databaseUrl }
}

async function begin(config: Config, { listen, out, log, life }: BeginOptions, worker?: Worker): Promise<void> {
  const { host, port, operatorPort } = config
  // Stopped last: a stopping server ends when its last answer has left.
  const ends = await life.start({
    name: 'last answers',
    start: (): Promise<void>[] => [],
    stop: (each) => Promise.all(each),
    limitMs: ANSWERS_MS,
  })
  const { app, createFirst, nameSilentEndpoints } = await createServices(config, { log, life, out, worker })
  const open = (
    handler: HattipHandler,
    at: { readonly name: string; readonly port: number },
  ): Promise<ListeningServer> =>
    life.start({
      name: at.name,
      start: () => openPort(handler, { listen, host, ...at, shared: worker !== undefined }),
      // Not waited for here: the requests that it waits for are stopped next.
      stop: (served) => void ends.push(served.stop()),
    })
  const server = await open(app.handler, { name: 'PORT', port })
  const operator =
    operatorPort === undefined ? undefined : await open(app.operator, { name: 'OPERATOR_PORT', port: operatorPort })
  const listens = { port: server.port, operatorPort: operator?.port }
  // Last: if anything after it could fail, the key would be lost before it is shown.
  const first = await createFirst()
  if (first !== undefined) printFirstStart(config, first, listens, out)
  await life.start({
    name: 'readiness',
    start: () => app,
    stop() {
      app.drain()
      // Load balancers need this time to notice.
      return pause(config.drainMs)
    },
    limitMs: config.drainMs + STOP_SPARE_MS,
  })
  if (worker === undefined) logListening(config, listens, { log, out })
  else worker.listens(listens)
  if (worker === undefined || worker.place === 1) void nameSilentEndpoints()
}
