import { TIMED_OUT } from '../../lib/async/abort.ts'
import { AlreadyLoggedError, UnavailableError } from '../../lib/error.ts'
import { SqlError, serverTooOldError } from '../database.ts'

/** Classes of failed statements, by what the sender can do. */
export type DatabaseFailure =
  /** The server is unreachable or cannot work now. `unsent`: the statement certainly did not reach it. */
  | { readonly kind: 'away'; readonly reason: string; readonly unsent?: boolean }
  /** A pooler in front of the server refused session settings; nothing was sent to the server. */
  | { readonly kind: 'pooler'; readonly reason: string }
  /** The statement was rolled back in favour of another one; sending it again is safe. */
  | { readonly kind: 'retry'; readonly reason: string }
  | { readonly kind: 'refused'; readonly error: Error }

const READ_ONLY = '25006'
const QUERY_CANCELED = '57014'
/** A server that is starting, stopping or recovering refuses sessions with this code. */
const CANNOT_CONNECT_NOW = '57P03'
/** Codes of failures before a connection, or on a connection to a standby that got no statement. */
const UNSENT_CODES = ['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'STANDBY']
const UNDEFINED_SETTING = '42704'
/** A session setting since PostgreSQL 14: older servers refuse the session. */
export const CLIENT_CONNECTION_CHECK = 'client_connection_check_interval'
const SERIALIZATION_FAILURE = '40001'
const DEADLOCK_DETECTED = '40P01'

/**
 * Connection exception, refused login, unknown database, insufficient resources, operator intervention, system error.
 */
const AWAY_CLASSES = ['08', '28', '3D', '53', '57', '58']

/** Classifies `TIMED_OUT` or a driver error: server errors have a SQLSTATE and a severity, network errors a code. */
export function classifyFailure(error: unknown): DatabaseFailure {
  if (error === TIMED_OUT) return { kind: 'away', reason: 'no answer by the deadline' }
  const code = getTextField(error, 'code')
  if (code === undefined) return { kind: 'refused', error: error instanceof Error ? error : new Error(String(error)) }
  const message = error instanceof Error ? error.message : code
  if (!isServerError(error)) {
    return { kind: 'away', reason: describeConnectionFailure(code, message), unsent: UNSENT_CODES.includes(code) }
  }
  if (code === UNDEFINED_SETTING && message.includes(CLIENT_CONNECTION_CHECK)) {
    return { kind: 'refused', error: serverTooOldError('is older than PostgreSQL 14') }
  }
  const reason = `${message} (${code})`
  if (isPoolerRefusal(error)) return { kind: 'pooler', reason }
  if (isUnavailable(code)) return { kind: 'away', reason, unsent: code === CANNOT_CONNECT_NOW }
  if (code === SERIALIZATION_FAILURE || code === DEADLOCK_DETECTED) return { kind: 'retry', reason }
  return { kind: 'refused', error: new SqlError(message, { code, constraint: getTextField(error, 'constraint_name') }) }
}

/** True for an error that the server sent. Poolers send only the translated severity. */
export function isServerError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && getTextField(error, 'severity_local') !== undefined && 'code' in error
}

/** True for PgBouncer's refusal of a setting that it does not keep for each client. */
export function isPoolerRefusal(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter')
}

/** Returns a text property, own or inherited: runtimes put an error's code in different places. */
function getTextField(error: unknown, name: string): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : undefined
}

function isUnavailable(code: string): boolean {
  return code === READ_ONLY || code === QUERY_CANCELED || AWAY_CLASSES.includes(code.slice(0, 2))
}

/**
 * The error for callers if the database cannot take a statement. The reason goes only to our log and names no address.
 */
export function unavailableError(message: string, reason: string): UnavailableError {
  return new UnavailableError(message, { cause: new Error(reason) })
}

/** Same, already logged as "database unavailable". */
export function loggedUnavailableError(reason: string): AlreadyLoggedError {
  return new AlreadyLoggedError('The database does not answer', { cause: new Error(reason) })
}

const BREAKER_FAILURES = 3
const PROBE_INTERVAL_MS = 100
/** Background statements may take minutes; a probe must not take that long. */
const PROBE_MS_MAX = 1_500

/**
 * Keeps statements from queueing for an unreachable server: after three failures in a row, only probes pass, one at a
 * time. A late statement costs its connection, so a slow server would otherwise lose one after another.
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
    recordSuccess(): void {
      failures = 0
    },
    recordFailure(): void {
      failures++
      if (failures >= BREAKER_FAILURES) nextProbeMs = monotonicMs() + PROBE_INTERVAL_MS
    },
  }
}

/** Reasons for a failed connection, by the code of the system, TLS, the driver or `pooled_connection.ts`. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused, nothing listens there',
  ECONNRESET: 'the server reset the connection',
  EPIPE: 'the server closed the connection',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name of the host could not be resolved',
  ETIMEDOUT: 'nothing answered the connection',
  EHOSTUNREACH: 'no route to the host',
  ENETUNREACH: 'no route to the network',
  ENOENT: 'there is no socket',
  EACCES: 'this user may not use the socket',
  CLOSED: 'the server closed the connection',
  STANDBY: 'the server is a standby',
  NO_TLS: 'the server does not offer TLS: see DATABASE_TLS',
  CONNECT_TIMEOUT: 'no session was opened in time',
  CONNECTION_CLOSED: 'the connection was lost',
  CONNECTION_ENDED: 'the connection was lost',
  CONNECTION_DESTROYED: 'the connection was lost',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the server is for another host',
}

/** TLS errors about a certificate: their messages name no host. */
const TLS_CODE = /^(?:CERT_|DEPTH_|SELF_SIGNED_|UNABLE_TO_|ERR_SSL_|ERR_TLS_)/

/** Describes a failed connection, without an address, with its code. */
function describeConnectionFailure(code: string, message: string): string {
  const words = WORDS[code] ?? (TLS_CODE.test(code) && message !== '' ? message : undefined)
  return words === undefined ? code : `${words} (${code})`
}
