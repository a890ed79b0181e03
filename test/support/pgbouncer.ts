import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { type Listener, parseDatabaseUrl } from '../../src/db/address.ts'
import { temporaryDirectory } from './database.ts'
import { waitFor } from './wait_for.ts'

/** A real PgBouncer in transaction mode, as installed, before a database. */
export interface PgBouncer {
  /** `DATABASE_URL` of the same database through it. */
  readonly url: string
  close(): Promise<void>
}

const DEBIAN = '/usr/sbin/pgbouncer'
const PROGRAM = Bun.which('pgbouncer') ?? (existsSync(DEBIAN) ? DEBIAN : undefined)
/** It refuses to run as root. */
const AS_NOBODY = process.getuid?.() === 0 ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'] : []

/** False if none is installed; with `PGBOUNCER_REQUIRED` that is an error. */
export function hasPgBouncer(): boolean {
  if (PROGRAM === undefined && process.env['PGBOUNCER_REQUIRED'] === 'true') {
    throw new Error('Cannot test behind PgBouncer: PGBOUNCER_REQUIRED is set, and none is installed')
  }
  return PROGRAM !== undefined
}

/** Starts it before the database of `url` with nothing set but the mode; `settings` are lines for `[pgbouncer]`. */
export async function startPgBouncer(
  url: string,
  { settings = [], port = freePort() }: { readonly settings?: readonly string[]; readonly port?: number } = {},
): Promise<PgBouncer> {
  const { listeners, user, password, database } = parseDatabaseUrl(url)
  const server = await overTcp(listeners[0])
  const directory = temporaryDirectory()
  const file = join(directory, 'pgbouncer.ini')
  const lines = [
    '[databases]',
    `${database} = host=${server.host} port=${server.port} user=${user}${password === '' ? '' : ` password=${password}`}`,
    '[pgbouncer]',
    ...['pool_mode = transaction', 'auth_type = any', 'listen_addr = 127.0.0.1', `listen_port = ${port}`],
    ...['unix_socket_dir =', ...settings],
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  chmodSync(directory, 0o755)
  const child = Bun.spawn([...AS_NOBODY, PROGRAM ?? '', '-q', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  await waitFor('PgBouncer to listen', () => listensAt(port))
  return {
    url: `postgres://${user}@127.0.0.1:${port}/${database}`,
    async close() {
      child.kill('SIGKILL')
      await child.exited
      server.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** The embedded server takes root only over its socket, and PgBouncer does not run as root. */
async function overTcp(listener: Listener): Promise<{ host: string; port: number; close(): void }> {
  if ('host' in listener) return { ...listener, close() {} }
  const sockets = new Set<{ destroy(): void }>()
  const server = createServer((client) => {
    const behind = connect(listener.path)
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      sockets.add(one)
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    host: '127.0.0.1',
    port: typeof address === 'object' && address !== null ? address.port : 0,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

function freePort(): number {
  const server = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = server
  server.stop(true)
  return port
}

function listensAt(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const settle = (listens: boolean) => {
      socket.destroy()
      resolve(listens)
    }
    socket.once('connect', () => settle(true)).once('error', () => settle(false))
  })
}
