import { isIP, Socket } from 'node:net'
import postgres from 'postgres'
import { memoizeText } from '../../lib/memoize.ts'
import type { DatabaseAddress, Listener } from '../address.ts'
import { driverTypes } from '../codec.ts'
import { CLIENT_CONNECTION_CHECK } from './failure.ts'

export type PooledConnection = ReturnType<typeof createPooledConnection>

interface GenerationOptions {
  readonly address: DatabaseAddress
  readonly listener: Listener
  /** Certificates of authorities to trust instead of the system's. */
  readonly ca: string | undefined
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly applicationName: string
  /**
   * True: behind a pooler, which may give every statement another session of the server. Statements are then not kept
   * prepared, and only what poolers keep for each client is set. @default false
   */
  readonly pooled?: boolean
  /** True: never connects again, so that no statement of a transaction runs outside it. */
  readonly connectsOnce?: boolean
}

/** How long a connection may take to close before its socket is destroyed. */
const FAREWELL_MS = 200
/** How soon the server notices that the client of a statement is gone. */
const ABANDONED_CHECK_MS = 250

/**
 * Makes a generation, one connection, which connects with the first statement. After a loss the driver cannot be trusted
 * (it sends stale buffers to the next connection, promises never settle), so a generation that lost its connection takes
 * no more statements, and a new one replaces it.
 */
export function createPooledConnection(options: GenerationOptions) {
  const { pooled = false } = options
  const sockets = new Set<Socket>()
  let usable = true
  let isStandby = false
  let worked = false
  let inFlight = 0
  let destroyed = false
  let connected = false

  const sql = postgres({
    ...driverOptions(options),
    onparameter: (name: string, value: string) => {
      if (name === 'in_hot_standby') isStandby = value === 'on'
    },
    // The driver uses our sockets, so that all can be destroyed here.
    socket: () => {
      const socket = connect(options.listener, { tls: options.address.tls })
      sockets.add(socket)
      // At the first sign: what is sent between the end of a socket and its close, the driver forgets.
      for (const sign of ['end', 'error', 'close']) socket.once(sign, () => generation.retire())
      socket.once('close', () => sockets.delete(socket))
      if (options.connectsOnce && connected) generation.destroy()
      if (destroyed) setImmediate(() => socket.destroy())
      connected = true
      return socket
    },
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>)

  /** The driver leaves a standby before it sends anything, and says only that the connection is gone. */
  function toldOf(error: unknown): never {
    const leftStandby = isStandby && !worked && options.address.listeners.length > 1
    throw leftStandby ? Object.assign(new Error('The server is a standby'), { code: 'STANDBY' }) : error
  }

  const generation = {
    /** False after a loss, `retire()` or `destroy()`: send nothing more. */
    get usable(): boolean {
      return usable
    },
    get worked(): boolean {
      return worked
    },
    /** Sends one statement. May never settle: the caller must have a deadline and must call `done` exactly once. */
    send(text: string, params: readonly (string | null)[]) {
      inFlight++
      const statement = sql.unsafe(text, [...params], { prepare: !pooled, simple: false } as { prepare: boolean })
      // The driver never frees the `strings` of a failed statement; one array per text bounds that.
      Object.assign(statement, { strings: stringsOf(text) })
      const rows: Promise<readonly object[]> = statement.then((result) => {
        worked = true
        return [...result] as object[]
      }, toldOf)
      return {
        rows,
        done(): void {
          inFlight--
          if (inFlight === 0 && !usable) generation.destroy()
        },
      }
    },
    /** Lets statements in flight finish, then closes; never waits. */
    retire(): void {
      usable = false
      if (inFlight === 0) generation.destroy()
    },
    destroy(): void {
      usable = false
      if (destroyed) return
      destroyed = true
      // Its promise may never settle, so it is not awaited.
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
    ssl: address.tls && host !== undefined ? tlsOptions(host, { ca: options.ca, verified: address.verified }) : false,
    // A standby may be behind, so of several listeners the primary is wanted.
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
      ...(options.pooled ? {} : sessionSettings(options.statementTimeoutMs)),
      ...address.startup,
    },
  }
}

/** Settings that a pooler does not keep for each client. */
function sessionSettings(statementTimeoutMs: number) {
  return {
    plan_cache_mode: 'force_generic_plan',
    // A statement that waited for a lock must see what the other wrote; the database's default may differ.
    default_transaction_isolation: 'read committed',
    statement_timeout: statementTimeoutMs,
    [CLIENT_CONNECTION_CHECK]: ABANDONED_CHECK_MS,
  }
}

/** The driver's own `ssl: 'require'` accepts any certificate; this accepts only one for the host, if it is `verified`. */
function tlsOptions(host: string, { ca, verified }: { readonly ca: string | undefined; readonly verified: boolean }) {
  return {
    rejectUnauthorized: verified,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
}

/** PostgreSQL's answer to a client that asks for TLS: it has none. */
const NO_TLS = 'N'.charCodeAt(0)

function connect(listener: Listener, { tls }: { readonly tls: boolean }): Socket {
  const socket = new Socket()
  // The driver would start TLS in any case, and the server's reset would say nothing.
  if (tls && 'host' in listener) {
    socket.once('data', ([first]) => {
      if (first === NO_TLS) socket.destroy(Object.assign(new Error('The server has no TLS'), { code: 'NO_TLS' }))
    })
  }
  // If the server closes while the driver starts a session, the driver would reconnect endlessly: make it an error.
  socket.once('end', () => socket.destroy(Object.assign(new Error('Closed by the server'), { code: 'CLOSED' })))
  // The driver listens for errors a moment later and would miss one that comes at once, as for a missing socket.
  setImmediate(() => {
    if (socket.destroyed) return
    if ('path' in listener) socket.connect(listener.path)
    else socket.connect(listener.port, listener.host)
  })
  return socket
}

const TEXTS_CHARS_MAX = 4_000_000
const stringsOf = memoizeText((text: string): readonly string[] => [text], TEXTS_CHARS_MAX)
