import { isIP, Socket } from 'node:net'
import postgres from 'postgres'
import type { DatabaseAddress, Listener } from './address.ts'
import { driverTypes } from './codec.ts'

/**
 * One connection. The driver cannot be trusted with it after it was lost (stale buffers are sent to the next one,
 * promises never settle), so a generation that loses it takes no more statements and a new one follows.
 */
export interface Generation {
  /** False after a connection was lost, `retire()` or `destroy()`: send nothing more. */
  readonly usable: boolean
  /** True once a statement has come back. */
  readonly worked: boolean
  /** Sends one statement. May never settle: the caller must have a deadline and must call `done` exactly once. */
  send(text: string, params: readonly (string | null)[]): { readonly rows: Promise<readonly object[]>; done(): void }
  /** Lets statements in flight finish, then closes; never waits. */
  retire(): void
  /** Closes the connection now. */
  destroy(): void
}

/** How a generation connects. */
interface GenerationOptions {
  readonly address: DatabaseAddress
  readonly listener: Listener
  /** Certificates of the authorities to trust, in place of the system's. */
  readonly ca: string | undefined
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly applicationName: string
  /** True: once a connection was made none follows it, so that a transaction can never go on outside of itself. */
  readonly connectsOnce?: boolean
}

/** How long a connection may take to say goodbye before its socket is destroyed. */
const FAREWELL_MS = 200
/** How soon the server notices that nobody waits for a statement any more. */
const ABANDONED_CHECK_MS = 250

/** Makes a generation; it connects with the first statement. */
export function createGeneration(options: GenerationOptions): Generation {
  const sockets = new Set<Socket>()
  let usable = true
  let worked = false
  let inFlight = 0
  let destroyed = false
  let connected = false

  const sql = postgres({
    ...driverOptions(options),
    // The driver is given our sockets, so that every one of them is known here and can be destroyed.
    socket: () => {
      const socket = connect(options.listener)
      sockets.add(socket)
      socket.once('close', () => {
        sockets.delete(socket)
        generation.retire()
      })
      if (options.connectsOnce && connected) generation.destroy()
      if (destroyed) setImmediate(() => socket.destroy())
      connected = true
      return socket
    },
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>)

  const generation: Generation = {
    get usable() {
      return usable
    },
    get worked() {
      return worked
    },
    send(text, params) {
      inFlight++
      const statement = sql.unsafe(text, [...params], { prepare: true, simple: false } as { prepare: boolean })
      // The driver keeps every distinct `strings` of a failed statement for ever; one array per text bounds that.
      Object.assign(statement, { strings: stringsOf(text) })
      const rows = statement.then((result) => {
        worked = true
        return [...result] as object[]
      })
      return {
        rows,
        done() {
          inFlight--
          if (inFlight === 0 && !usable) generation.destroy()
        },
      }
    },
    retire() {
      usable = false
      if (inFlight === 0) generation.destroy()
    },
    destroy() {
      usable = false
      if (destroyed) return
      destroyed = true
      // Its promise may never settle, so nobody waits for it.
      sql.end({ timeout: 0 }).catch(() => {})
      setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, FAREWELL_MS)
    },
  }
  return generation
}

function driverOptions({ address, listener, ...options }: GenerationOptions) {
  const host = 'host' in listener ? listener.host : undefined
  return {
    host: host ?? 'localhost',
    database: address.database,
    user: address.user,
    password: address.password,
    ssl: address.tls && host !== undefined ? tlsOptions(host, options.ca) : false,
    // With several listeners the primary is wanted: a standby answers from the past.
    target_session_attrs: address.listeners.length > 1 ? 'primary' : undefined,
    max: 1,
    max_pipeline: 0,
    connect_timeout: options.connectTimeoutMs / 1000,
    idle_timeout: null,
    max_lifetime: null,
    sslnegotiation: null,
    fetch_types: false,
    no_subscribe: true,
    types: driverTypes(),
    onnotice: () => {},
    connection: {
      application_name: options.applicationName,
      TimeZone: 'UTC',
      DateStyle: 'ISO',
      plan_cache_mode: 'force_generic_plan',
      // A statement that waited for a lock must see what the other wrote, whatever the database's default is.
      default_transaction_isolation: 'read committed',
      statement_timeout: options.statementTimeoutMs,
      client_connection_check_interval: ABANDONED_CHECK_MS,
      ...address.startup,
    },
  }
}

/** The driver's own `ssl: 'require'` accepts any certificate; this accepts only one that is valid for the host. */
function tlsOptions(host: string, ca: string | undefined) {
  return {
    rejectUnauthorized: true,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
}

function connect(listener: Listener): Socket {
  const socket = new Socket()
  // A server that closes while the driver starts a session would make it reconnect for ever: make it an error.
  socket.once('end', () => socket.destroy(Object.assign(new Error('Closed by the server'), { code: 'CLOSED' })))
  // The driver listens for errors a moment later: one that comes at once, as from a missing socket, would pass unseen.
  setImmediate(() => {
    if (socket.destroyed) return
    if ('path' in listener) socket.connect(listener.path)
    else socket.connect(listener.port, listener.host)
  })
  return socket
}

const TEXTS_MAX = 2_000
const stringsByText = new Map<string, readonly string[]>()

function stringsOf(text: string): readonly string[] {
  const known = stringsByText.get(text)
  if (known !== undefined) return known
  const strings = [text]
  if (stringsByText.size < TEXTS_MAX) stringsByText.set(text, strings)
  return strings
}
