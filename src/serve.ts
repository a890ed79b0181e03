import type { Config } from './config.ts'
import type { App } from './http/app.ts'
import type { Served } from './http/served.ts'
import { createLog } from './lib/log.ts'
import { createServices, type Services } from './services.ts'

/** What serving needs of the process that it runs in. */
export interface ServeOptions {
  /** Opens the port: on Bun or on Node. */
  readonly listen: (app: App, config: Config) => Served | Promise<Served>
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
  const log = createLog({ level: config.logLevel, write: (line) => err(line.trimEnd()) })
  const services = await createServices(config, { log, onProgress: (step) => out(`${step} …`) })
  // Before anything else can fail: the key exists now, and nobody could ever ask for it again.
  if (services.first !== undefined) out(announcement(services.first))
  const server = await listening()
  log.info({ msg: 'Listens', host: config.host, port: server.port, chains: config.chains.map(({ id }) => id) })
  out(`walletscope listens on ${server.url}`)

  await fired(stop)
  log.info({ msg: 'Was asked to stop', signal: String(stop.reason) })
  services.app.drain()
  await pause(DRAIN_MS)
  const refusing = server.stop()
  await services.close()
  await Promise.race([refusing, pause(DRAIN_MS)])
  log.info({ msg: 'Stopped' })

  async function listening(): Promise<Served> {
    try {
      return await listen(services.app, config)
    } catch (cause) {
      await services.close()
      const { code } = cause as { readonly code?: unknown }
      const reason = LISTEN_FAILURES[String(code)] ?? 'the system refused'
      throw new Error(`Cannot listen on HOST ${config.host} PORT ${config.port}: ${reason}`, { cause })
    }
  }
}

function announcement({ organizationId, key, credits }: NonNullable<Services['first']>): string {
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
