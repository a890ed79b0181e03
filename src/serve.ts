import type { HattipHandler } from '@hattip/core'
import type { Config } from './config.ts'
import type { ListeningServer } from './http/server/listening.ts'
import { createLog } from './lib/log.ts'
import { isLoopback } from './lib/loopback.ts'
import { createServices, type First } from './services.ts'

/** What serving needs of the process that it runs in. */
export interface ServeOptions {
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

/** How long requests are still taken after readiness has gone, so that a load balancer can notice. */
const DRAIN_MS = 500

const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program has taken it',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'this machine has no such address',
}

/**
 * Serves until `stop` fires, then in order: not ready, no new connections, accepted requests finished and charged,
 * everything closed; within ten seconds whatever hangs.
 */
export async function serve(config: Config, { listen, out, err, stop }: ServeOptions): Promise<void> {
  const { host, port, operatorPort } = config
  const log = createLog({ level: config.logLevel, write: (line) => err(line.trimEnd()) })
  const services = await createServices(config, { log, onProgress: (step) => out(`${step} …`) })
  const { app } = services
  const servers: ListeningServer[] = []
  try {
    const server = await listening(app.handler, { name: 'PORT', port })
    const operator =
      operatorPort === undefined
        ? undefined
        : await listening(app.operator, { name: 'OPERATOR_PORT', port: operatorPort })
    // Last, and told at once: nothing that could fail may stand between a key and whoever has to keep it.
    const first = await services.createFirst()
    if (first !== undefined) out(announcement(first))
    const chains = config.chains.map(({ id }) => id)
    log.info({ msg: 'Listens', host, port: server.port, operatorPort: operator?.port, chains })
    if (config.publicUrl === undefined && !isLoopback(host)) log.warn({ msg: LINKS_FOLLOW_HOST })
    out(`walletscope listens on ${server.url}`)
    if (operator !== undefined) out(`Pages for its operator are on ${operator.url}`)
  } catch (error) {
    for (const server of servers) void server.stop()
    await services.close()
    throw error
  }

  await fired(stop)
  log.info({ msg: 'Was asked to stop', signal: String(stop.reason) })
  app.drain()
  await pause(DRAIN_MS)
  const refusing = Promise.all(servers.map((server) => server.stop()))
  await services.close()
  await Promise.race([refusing, pause(DRAIN_MS)])
  log.info({ msg: 'Stopped' })

  async function listening(
    handler: HattipHandler,
    { name, port }: { readonly name: string; readonly port: number },
  ): Promise<ListeningServer> {
    try {
      const server = await listen({ handler }, { host, port })
      servers.push(server)
      return server
    } catch (cause) {
      const { code } = cause as { readonly code?: unknown }
      const reason = LISTEN_FAILURES[String(code)] ?? 'the system refused'
      throw new Error(`Cannot listen on HOST ${host} ${name} ${port}: ${reason}`, { cause })
    }
  }
}

const LINKS_FOLLOW_HOST =
  'PUBLIC_URL is not set: next_page and prev_page follow the Host header of each request, over http'

function announcement({ organizationId, key, credits }: First): string {
  return [
    '',
    `First start: created the organization "default" (${organizationId}) with ${credits.toLocaleString('en')} credits.`,
    'Its API key, shown this once:',
    '',
    `  ${key}`,
    '',
  ].join('\n')
}

function fired(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
