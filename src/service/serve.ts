import { setTimeout as pause } from 'node:timers/promises'
import type { HattipHandler } from '@hattip/core'
import { LINK_SEC } from '../account/session.ts'
import type { ListeningServer } from '../http/server/listening.ts'
import { systemCode } from '../lib/error.ts'
import { createLog, type Log } from '../lib/log.ts'
import { isLoopback } from '../lib/loopback.ts'
import { loginUrl } from './address/login_url.ts'
import type { Config } from './config/config.ts'
import { createLifecycle, type Lifecycle } from './lifecycle.ts'
import { createServices, type First } from './services.ts'

interface ServeOptions {
  /** Opens a port: on Bun or on Node. */
  readonly listen: (
    app: { readonly handler: HattipHandler },
    address: Pick<Config, 'host' | 'port'>,
  ) => ListeningServer | Promise<ListeningServer>
  /** Takes one line for a person. */
  readonly out: (text: string) => void
  /** Takes one line of the log. */
  readonly err: (text: string) => void
  /** Fires when the process is asked to stop; its reason names the signal. */
  readonly stop: AbortSignal
}

/** How long the last answers may take to reach their callers. */
const ANSWERS_MS = 500
const STOP_SPARE_MS = 50

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has taken it',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'this machine has no such address',
}

/**
 * Serves until `stop` fires, then in order: not ready, no new connections, accepted requests finished and charged,
 * everything closed, within ten seconds after `drainMs` even if something hangs.
 */
export async function serve(config: Config, options: ServeOptions): Promise<void> {
  const log = createLog({ level: config.logLevel, write: options.err })
  const life = createLifecycle(log)
  try {
    await begin(config, { ...options, log, life })
    await fired(options.stop)
    log.info({ msg: 'Was asked to stop', signal: String(options.stop.reason) })
  } finally {
    await life.stop()
  }
  log.info({ msg: 'Stopped' })
}

async function begin(
  config: Config,
  { listen, out, log, life }: ServeOptions & { readonly log: Log; readonly life: Lifecycle },
): Promise<void> {
  const { host, port, operatorPort } = config
  // Stopped last: a stopping server ends when its last answer has left.
  const ends = await life.start({
    name: 'last answers',
    start: (): Promise<void>[] => [],
    stop: (each) => Promise.all(each),
    limitMs: ANSWERS_MS,
  })
  const { app, createFirst, nameSilentEndpoints } = await createServices(config, {
    log,
    life,
    onProgress: (step) => out(`${step} …`),
  })
  const open = (
    handler: HattipHandler,
    at: { readonly name: string; readonly port: number },
  ): Promise<ListeningServer> =>
    life.start({
      name: at.name,
      start: () => listening(() => listen({ handler }, { host, port: at.port }), { host, ...at }),
      // Not waited for here: the requests that it waits for are stopped next.
      stop: (served) => void ends.push(served.stop()),
      limitMs: STOP_SPARE_MS,
    })
  const server = await open(app.handler, { name: 'PORT', port })
  const operator =
    operatorPort === undefined ? undefined : await open(app.operator, { name: 'OPERATOR_PORT', port: operatorPort })
  // Last: if anything after it could fail, the key would be lost before it is shown.
  const first = await createFirst()
  if (first !== undefined) {
    const listens = { port: server.port, operatorPort: operator?.port }
    out(
      announcement(first, {
        operator: loginUrl(config, { secret: first.links.operator, isOperator: true, listens }),
        organization: loginUrl(config, { secret: first.links.organization, isOperator: false, listens }),
      }),
    )
  }
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
  const chains = config.chains.map(({ id }) => id)
  log.info({ msg: 'Listens', host, port: server.port, operatorPort: operator?.port, chains })
  if (config.publicUrl === undefined && !isLoopback(host)) log.warn({ msg: LINKS_FOLLOW_HOST })
  if (config.databaseTls !== 'verify') log.warn({ msg: UNPROTECTED[config.databaseTls] })
  out(`walletscope listens on ${server.url}`)
  if (operator !== undefined) out(`Pages for its operator are on ${operator.url}`)
  void nameSilentEndpoints()
}

/** Opens a port; a failure names the setting that chose it. */
async function listening(
  listen: () => ListeningServer | Promise<ListeningServer>,
  { host, name, port }: { readonly host: string; readonly name: string; readonly port: number },
): Promise<ListeningServer> {
  try {
    return await listen()
  } catch (cause) {
    const reason = LISTEN_FAILURES[systemCode(cause)] ?? 'the system refused'
    throw new Error(`Cannot listen on HOST ${host} ${name} ${port}: ${reason}`, { cause })
  }
}

const UNPROTECTED = {
  off: 'DATABASE_TLS is off: passwords and data cross the network to the database unprotected',
  unverified:
    'DATABASE_TLS is unverified: whoever stands between this process and the database can read and change all',
}

const LINKS_FOLLOW_HOST =
  'PUBLIC_URL is not set: next_page and prev_page follow the Host header of each request, over http, and names that ALLOWED_HOSTS does not list are refused'

function announcement({ organizationId, key, credits }: First, urls: First['links']): string {
  return [
    '',
    `First start: created the organization "default" (${organizationId}) with ${credits.toLocaleString('en')} credits.`,
    'Its API key, shown this once:',
    '',
    `  ${key}`,
    '',
    `Links that sign in once, within ${LINK_SEC / 60} minutes (later: walletscope login):`,
    '',
    `  operator      ${urls.operator}`,
    `  organization  ${urls.organization}`,
    '',
  ].join('\n')
}

function fired(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
