import { isIP, Socket } from 'node:net'
import postgres from 'postgres'
import type { Clock } from '../../lib/clock.ts'
import { memoizeText } from '../../lib/memoize.ts'
import type { DatabaseAddress, Listener } from '../address.ts'
import { driverTypes } from '../codec.ts'
import { CLIENT_CONNECTION_CHECK } from './failure.ts'

export type PooledConnection = ReturnType<typeof createPooledConnection>

interface PooledConnectionOptions {
  readonly clock: Clock
  readonly address: DatabaseAddress
  readonly listener: Listener
  /** Certificates of authorities to trust instead of the system's. */
  readonly ca: string | undefined
  readonly connectTimeoutMs: number
  readonly statementTimeoutMs: number
  readonly applicationName: string
  /**
   * True: a pooler may run every statement in another server session. Statements are then not kept prepared, and only
   * settings that poolers keep for each client are sent. @default false
   */
  readonly pooled?: boolean
  /** True: never reconnects, so that no statement of a transaction runs outside it. */
  readonly connectsOnce?: boolean
}

/** How long a connection may take to close before its socket is destroyed, milliseconds. */
const CLOSE_GRACE_MS = 200
/** Interval at which the server checks that a statement's client is still there, milliseconds. */
const CLIENT_CHECK_MS = 250

/**
 * Creates one connection, which connects with the first statement. After a loss the driver cannot be trusted (it sends
 * stale buffers to the next connection, promises never settle), so a lost connection takes no more statements, and the
 * caller creates a new one.
 */
export function createPooledConnection(options: PooledConnectionOptions) {
  const { pooled = false } = options
  const sockets = new Set<Socket>()
  let isUsable = true
  let isStandby = false
  let hasAnswered = false
  let answeredAtMs = 0
  let inFlight = 0
  let isDestroyed = false
  let hasConnected = false

  const sql = postgres({
    ...driverOptions(options),
    onparameter: (name: string, value: string) => {
      if (name === 'in_hot_standby') isStandby = value === 'on'
    },
    // The driver uses our sockets, so that `destroy()` reaches all of them.
    socket: () => {
      const socket = connect(options.listener, { tls: options.address.tls })
      sockets.add(socket)
      // Retire at the first sign: the driver drops statements sent between the end of a socket and its close.
      for (const sign of ['end', 'error', 'close']) socket.once(sign, () => connection.retire())
      socket.once('close', () => sockets.delete(socket))
      if (options.connectsOnce && hasConnected) connection.destroy()
      if (isDestroyed) setImmediate(() => socket.destroy())
      hasConnected = true
      return socket
    },
  } as unknown as postgres.Options<Record<string, postgres.PostgresType>>)

  /** Names the standby: the driver leaves one before it sends anything, and reports only a closed connection. */
  function throwDriverError(error: unknown): never {
    const hasLeftStandby = isStandby && !hasAnswered && options.address.listeners.length > 1
    throw hasLeftStandby ? Object.assign(new Error('The server is a standby'), { code: 'STANDBY' }) : error
  }

  const connection = {
    /** False after a loss, `retire()` or `destroy()`: send nothing more. */
    get isUsable(): boolean {
      return isUsable
    },
    get hasAnswered(): boolean {
      return hasAnswered
    },
    /** When the last answer came, monotonic milliseconds. */
    get answeredAtMs(): number {
      return answeredAtMs
    },
    /** Sends one statement. May never settle: the caller must have a deadline and must call `done` exactly once. */
    send(text: string, params: readonly (string | null)[]) {
      inFlight++
      const statement = sql.unsafe(text, [...params], { prepare: !pooled, simple: false } as { prepare: boolean })
      // The driver never frees the `strings` of a failed statement; one array per text bounds that.
      Object.assign(statement, { strings: getStrings(text) })
      const rows: Promise<readonly object[]> = statement.then((result) => {
        hasAnswered = true
        answeredAtMs = options.clock.monotonicMs()
        return [...result] as object[]
      }, throwDriverError)
      return {
        rows,
        done(): void {
          inFlight--
          if (inFlight === 0 && !isUsable) connection.destroy()
        },
      }
    },
    /** Lets statements in flight finish, then closes; never waits. */
    retire(): void {
      isUsable = false
      if (inFlight === 0) connection.destroy()
    },
    destroy(): void {
      isUsable = false
      if (isDestroyed) return
      isDestroyed = true
      // The promise may never settle, so it is not awaited.
      sql.end({ timeout: 0 }).catch(() => {})
      options.clock.after(CLOSE_GRACE_MS, () => {
        for (const socket of sockets) socket.destroy()
      })
    },
  }
  return connection
}

function driverOptions({ address, listener, ...options }: PooledConnectionOptions) {
  const host = 'host' in listener ? listener.host : undefined
  return {
    host: host ?? 'localhost',
    database: address.database,
    user: address.user,
    password: address.password,
    ssl: address.tls && host !== undefined ? tlsOptions(host, { ca: options.ca, verified: address.verified }) : false,
    // A standby may lag, so with several listeners only the primary is used.
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

/** Session settings that a pooler does not keep for each client. */
function sessionSettings(statementTimeoutMs: number) {
  return {
    plan_cache_mode: 'force_generic_plan',
    // A statement that waited for a lock must see the other transaction's writes; the database's default may differ.
    default_transaction_isolation: 'read committed',
    statement_timeout: statementTimeoutMs,
    [CLIENT_CONNECTION_CHECK]: CLIENT_CHECK_MS,
  }
}

/** Accepts only a certificate for the host if `verified`; the driver's own `ssl: 'require'` accepts any. */
function tlsOptions(host: string, { ca, verified }: { readonly ca: string | undefined; readonly verified: boolean }) {
  return {
    rejectUnauthorized: verified,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(ca === undefined ? {} : { ca }),
  }
}

/** PostgreSQL's reply to a TLS request if it has no TLS. */
const NO_TLS = 'N'.charCodeAt(0)

function connect(listener: Listener, { tls }: { readonly tls: boolean }): Socket {
  const socket = new Socket()
  // The driver would start TLS in any case, and the server's reset would give no reason.
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
const getStrings = memoizeText((text: string): readonly string[] => [text], TEXTS_CHARS_MAX)
