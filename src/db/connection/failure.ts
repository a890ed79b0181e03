import { TIMED_OUT } from '../../lib/async/wait.ts'
import { AlreadyLoggedError, UnavailableError } from '../../lib/error.ts'
import { SqlError, serverTooOldError } from '../database.ts'
import { describeConnectionFailure } from './connection_failure.ts'

/** What a failed statement means for its sender. */
export type DatabaseFailure =
  /** The server cannot be reached, or cannot work now. `unsent`: it has certainly not got the statement. */
  | { readonly kind: 'away'; readonly reason: string; readonly unsent?: boolean }
  /** A pooler stands before the server and refuses settings of sessions; nothing was sent to the server. */
  | { readonly kind: 'pooler'; readonly reason: string }
  /** Rolled back in favour of another statement; sending it again is safe. */
  | { readonly kind: 'retry'; readonly reason: string }
  | { readonly kind: 'refused'; readonly error: Error }

const READ_ONLY = '25006'
const QUERY_CANCELED = '57014'
/** A server that starts, stops or recovers refuses the session. */
const CANNOT_CONNECT_NOW = '57P03'
/** There never was a connection, or it was to a standby, which got nothing. */
const UNCONNECTED = ['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'STANDBY']
const UNDEFINED_SETTING = '42704'
/** A setting of each session, which came with PostgreSQL 14: a server before it refuses the session. */
export const CLIENT_CONNECTION_CHECK = 'client_connection_check_interval'
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'

/**
 * Connection exceptions, refused logins, unknown databases, insufficient resources, operator intervention, system error.
 */
const AWAY_CLASSES = ['08', '28', '3D', '53', '57', '58']

/** Reads `TIMED_OUT` or an error of the driver: the server's have a SQLSTATE and a severity, the network's a code. */
export function classifyFailure(error: unknown): DatabaseFailure {
  if (error === TIMED_OUT) return { kind: 'away', reason: 'no answer by the deadline' }
  const code = field(error, 'code')
  if (code === undefined) return { kind: 'refused', error: error instanceof Error ? error : new Error(String(error)) }
  const message = error instanceof Error ? error.message : code
  if (!isServerError(error)) {
    return { kind: 'away', reason: describeConnectionFailure(code, message), unsent: UNCONNECTED.includes(code) }
  }
  if (code === UNDEFINED_SETTING && message.includes(CLIENT_CONNECTION_CHECK)) {
    return { kind: 'refused', error: serverTooOldError('is older than PostgreSQL 14') }
  }
  const reason = `${message} (${code})`
  if (isPoolerRefusal(error)) return { kind: 'pooler', reason }
  if (isAway(code)) return { kind: 'away', reason, unsent: code === CANNOT_CONNECT_NOW }
  if (code === SERIALIZATION_FAILURE || code === DEADLOCK_DETECTED) return { kind: 'retry', reason }
  return { kind: 'refused', error: new SqlError(message, { code, constraint: field(error, 'constraint_name') }) }
}

/** True for an error that a server sent. Poolers send the translated severity alone. */
export function isServerError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && field(error, 'severity_local') !== undefined && 'code' in error
}

/** True for what PgBouncer says about a setting that it does not keep for each client. */
export function isPoolerRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter')
}

/** A text property, own or inherited: runtimes put an error's code in different places. */
function field(error: unknown, name: string): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : undefined
}

function isAway(code: string): boolean {
  return code === READ_ONLY || code === QUERY_CANCELED || AWAY_CLASSES.includes(code.slice(0, 2))
}

/**
 * The error that callers see if the database cannot take a statement. The reason, which names no address, is for our
 * log only.
 */
export function unavailableError(message: string, reason: string): UnavailableError {
  return new UnavailableError(message, { cause: new Error(reason) })
}

/** The same if the log was told that the database is away. */
export function loggedUnavailableError(reason: string): AlreadyLoggedError {
  return new AlreadyLoggedError('The database does not answer', { cause: new Error(reason) })
}

const BREAKER_FAILURES = 3
const PROBE_INTERVAL_MS = 100
/** Statements of the background may take minutes: no probe is waited for that long. */
const PROBE_MS_MAX = 1_500

/**
 * Keeps statements from queueing for a server that is away: after three failures in a row, only probes pass, one at a
 * time. A statement that is late costs its connection, and a server that is only slow would lose one after another.
 */
export function createCircuitBreaker(monotonicMs: () => number) {
  let failures = 0
  let nextProbeMs = 0
  return {
    /** True if a statement with this deadline may be sent now. */
    admits(deadlineMs: number): boolean {
      if (failures < BREAKER_FAILURES) return true
      const nowMs = monotonicMs()
      if (nowMs < nextProbeMs) return false
      nextProbeMs = nowMs + Math.min(deadlineMs, PROBE_MS_MAX) + PROBE_INTERVAL_MS
      return true
    },
    succeeded(): void {
      failures = 0
    },
    failed(): void {
      failures++
      if (failures >= BREAKER_FAILURES) nextProbeMs = monotonicMs() + PROBE_INTERVAL_MS
    },
  }
}
