import { closeSync, openSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import type { HattipHandler } from '@hattip/core'
import { LOGIN_LINK_SEC } from '../../account/session.ts'
import { listServedChainIds } from '../../config/chains.ts'
import type { Config } from '../../config/config.ts'
import { openDatabase } from '../../db/connection/pool.ts'
import { migrate } from '../../db/migrate.ts'
import { formatServerUrl, type ListeningServer } from '../../http/server/listening.ts'
import { whenAborted } from '../../lib/async/abort.ts'
import { type Clock, repeat, systemClock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import { createJobMetrics } from '../../lib/job.ts'
import { createLog, type Log, logThrottled } from '../../lib/log.ts'
import { createMetrics } from '../../lib/metrics.ts'
import { isLoopback } from '../../lib/text/network.ts'
import {
  createFirstOrganization,
  type FirstStart,
  startDiskMetrics,
  startEmbeddedDatabase,
} from '../embedded_database.ts'
import { createProcessMetrics } from '../health/metrics.ts'
import type { Ports } from '../process/channel.ts'
import { createLifecycle } from '../process/lifecycle.ts'
import { releaseOnceIdle } from '../process/release.ts'
import { findWorker, type Worker } from '../process/worker.ts'
import { createWorkerPool } from '../process/worker_pool.ts'
import { loginUrl } from './login_url.ts'
import type { ServeOptions, StartOptions } from './options.ts'

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
  { listen, releaseMemory, out, clock, log, lifecycle }: StartOptions,
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
  const [createServices, embedded] = await loadServices(config, { clock, log, lifecycle, out })
  const { app, createFirstOrganization, logUnresponsiveEndpoints } = await createServices(config, {
    clock,
    log,
    lifecycle,
    embedded,
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
  await lifecycle.start({
    name: 'memory of the start',
    start: () => (releaseMemory === undefined ? undefined : releaseOnceIdle(releaseMemory, { clock })),
    stop: (end) => end?.(),
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

/** Loads the service and starts the embedded database, if it is to be used, both at the same time. */
async function loadServices(config: Config, options: Pick<StartOptions, 'clock' | 'log' | 'lifecycle' | 'out'>) {
  const load = async () => (await import('../mod.ts')).createServices
  if (config.databaseUrl !== undefined) return [await load(), undefined] as const
  // To evaluate modules holds this process, so the database's comes first.
  let onSpawned = () => {}
  const spawned = new Promise<void>((resolve) => {
    onSpawned = resolve
  })
  const starting = startEmbeddedDatabase(config, { ...options, onSpawned })
  const loading = Promise.race([spawned, starting]).then(load)
  return await Promise.all([loading, starting])
}

/** How often a process looks whether it can open another file. */
const LOOK_MS = 500

/**
 * True unless the process, or the system, has as many files open as it may. Synchronous: to open this one takes less than
 * to wake a thread that does it.
 */
function canOpenFile(): boolean {
  try {
    closeSync(openSync('/dev/null', 'r'))
    return true
  } catch (error) {
    return !['EMFILE', 'ENFILE'].includes(getErrnoCode(error))
  }
}

/**
 * Closes callers' idle connections while the process can open no more files: those of strangers must leave room for the
 * database and for endpoints. A server itself has no limit of connections. Returns a function that ends the looks.
 */
export function freeFilesWhenFull(
  servers: readonly Pick<ListeningServer, 'closeIdle'>[],
  {
    clock,
    log,
    canOpen = canOpenFile,
  }: { readonly clock: Clock; readonly log: Log; readonly canOpen?: typeof canOpenFile },
): () => void {
  function look(): void {
    if (canOpen()) return
    for (const server of servers) server.closeIdle()
    logThrottled(
      log,
      { level: 'warn', kind: 'open files', clock },
      { msg: 'Closed idle connections: the limit of open files is reached; raise it (ulimit -n)' },
    )
  }
  return repeat(clock, LOOK_MS, look, { keepsAlive: false })
}

/** Maximum stop time of a worker after its drain; with the embedded database it stays below ten seconds. */
const STOP_MS = 6_750

/** Starts the embedded database, if configured, and the workers. */
async function startWorkers(
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
  const jobs = { ...createJobMetrics(metrics), clock }
  const embedded =
    databaseUrl === undefined ? await startEmbeddedDatabase(config, { clock, log, lifecycle, out }) : undefined
  if (embedded !== undefined) await startDiskMetrics(config, { log, lifecycle, metrics, jobs })
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

/** Prints the key and the links of a first start. */
function printFirstStart(config: Config, first: FirstStart, listens: Ports, out: StartOptions['out']): void {
  const { organizationId, key, credits, links } = first
  const operator = loginUrl(config, { secret: links.operator, isOperator: true, listens })
  const organization = loginUrl(config, { secret: links.organization, isOperator: false, listens })
  const lines = [
    '',
    `This is the first start, so you have an organization now: "default" (${organizationId}). It has`,
    `${credits.toLocaleString('en')} credits, which its requests cost. Send its API key with each; it is shown only now:`,
    '',
    `  ${key}`,
    '',
    `Open its usage page, and yours as the operator. Each link signs in once, within ${LOGIN_LINK_SEC / 60} minutes;`,
    '"walletscope login --org default" and "walletscope login" print others:',
    '',
    `  organization  ${organization}`,
    `  operator      ${operator}`,
    '',
  ]
  out(lines.join('\n'))
}

/** Logs the address, and warns about unsafe settings. */
export function logListening(config: Config, listens: Ports, { log, out }: Pick<StartOptions, 'log' | 'out'>): void {
  const { host, databaseTls, publicUrl, workers, omissions, misspelled } = config
  const { port, operatorPort } = listens
  const chains = listServedChainIds(config)
  log.info({ msg: 'Listening', host, port, operatorPort, chains, workers: workers === 1 ? undefined : workers })
  for (const { name, nearest } of misspelled)
    log.warn({ msg: `The variable ${name} is not read: did you mean ${nearest}?` })
  if (publicUrl === undefined && !isLoopback(host)) log.warn({ msg: LINKS_FOLLOW_HOST })
  for (const { chainId, omitted } of omissions) log.warn({ msg: LEAVES_OUT, chainId, omitted })
  if (databaseTls !== 'verify') log.warn({ msg: UNPROTECTED[databaseTls] })
  out(`walletscope listens on ${formatServerUrl(host, port)}`)
  if (operatorPort !== undefined) out(`Operator pages: ${formatServerUrl(host, operatorPort)}`)
}

const UNPROTECTED = {
  off: 'DATABASE_TLS is off: passwords and data cross the network to the database unprotected',
  unverified:
    'DATABASE_TLS is unverified: an attacker between this process and the database can read and change everything',
}

const LEAVES_OUT =
  'A row of CHAINS_FILE leaves out what is built in: its lists stand in place of the built-in ones, those under "add" are joined to them'

const LINKS_FOLLOW_HOST =
  'PUBLIC_URL is not set: next_page and prev_page follow the Host header of each request, over http, and names that ALLOWED_HOSTS does not list are refused'

const FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'this machine has no such address',
}

/** Opens a port; a failure names the setting that chose it. */
async function openPort(
  handler: HattipHandler,
  {
    listen,
    name,
    ...address
  }: Pick<ServeOptions, 'listen'> & {
    readonly name: string
    readonly host: string
    readonly port: number
    readonly shared: boolean
    readonly clock: Clock
  },
): Promise<ListeningServer> {
  try {
    return await listen({ handler }, address)
  } catch (cause) {
    const reason = FAILURES[getErrnoCode(cause)] ?? 'the system refused'
    throw new Error(`Cannot listen on HOST ${address.host} ${name} ${address.port}: ${reason}`, { cause })
  }
}

/**
 * Claims a port for workers, which share it, until the result is called. Throws as `openPort` if another program has the
 * port, or another supervisor has claimed it and is about to open it: the system would split the requests between both.
 */
export async function claimPort(
  address: Pick<ServeOptions, 'listen'> & {
    readonly name: string
    readonly host: string
    readonly port: number
    readonly clock: Clock
  },
): Promise<() => void> {
  const { name, host, port } = address
  if (port === 0) return () => {}
  const claim = await listenAbstract(`walletscope ${host} ${port}`).catch((cause: unknown) => {
    throw new Error(`Cannot listen on HOST ${host} ${name} ${port}: another service is starting there`, { cause })
  })
  try {
    const server = await openPort(() => new Response(null, { status: 503 }), { ...address, shared: false })
    await server.stop()
    return () => claim?.close()
  } catch (error) {
    claim?.close()
    throw error
  }
}

/**
 * Listens on an abstract socket: a name that one process has, until that process ends however it ends. Only Linux has
 * them; undefined elsewhere.
 */
async function listenAbstract(name: string): Promise<Server | undefined> {
  if (process.platform !== 'linux') return undefined
  return await new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', reject)
    server.listen(`\0${name}`, () => resolve(server))
    server.unref()
  })
}
