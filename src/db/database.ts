/**
 * A parameter of a statement. Big numbers go as decimal strings; arrays of anything but text and numbers go as text
 * arrays cast in SQL (`$1::text[]::timestamptz[]`), because the driver encodes other arrays wrongly.
 */
export type Param = string | number | boolean | Date | Uint8Array | null | readonly string[] | readonly number[]

/**
 * Kinds of statements. Each lane has its own connections, so that lanes never wait for each other: `gate` for what
 * every request needs before its answer, `read` for what one caller asked for, `background` for what no caller waits
 * for. `copy` is `read` for what a standby may answer, if there is one: reads that may be long.
 */
export type LaneName = 'gate' | 'read' | 'copy' | 'background'

/** One PostgreSQL, asked one statement at a time: every change of state is a single statement, never a transaction. */
export interface Database {
  /**
   * Runs one prepared statement. Throws `UnavailableError` if the server is away, read-only, or silent past the
   * deadline, or if no connection of the lane is free by then; `SqlError` if it refuses the statement. By default the
   * lane is `read` and the deadline 1,500 ms; `gate` allows at most 1,500 ms, `read` 10 s, `background` 10 minutes.
   */
  run<Row extends object>(
    text: string,
    params: readonly Param[],
    options?: { readonly lane?: LaneName; readonly deadlineMs?: number },
  ): Promise<readonly Row[]>
  /** Closes every connection; takes at most two seconds, even if a statement hangs. */
  close(): Promise<void>
}

/** SQLSTATE of a row that names another one that is not there, or of one that others name. */
export const FOREIGN_KEY_VIOLATION = '23503'

/** PostgreSQL refused a statement. `code` is the SQLSTATE; the message is for our log, never for a caller. */
export class SqlError extends Error {
  override readonly name = 'SqlError'
  readonly code: string
  readonly constraint: string | undefined

  constructor(
    message: string,
    options: { readonly code: string; readonly constraint?: string | undefined; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause })
    this.code = options.code
    this.constraint = options.constraint
  }
}

/** This program cannot use the database: it is too old, a newer or a different program's, or half restored. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** The least `server_version_num`: PostgreSQL 15. */
export const SERVER_VERSION_MIN = 150_000

/** The refusal of a server below it; `is`: `is PostgreSQL 14.23`. */
export function serverTooOldError(is: string): SchemaError {
  return new SchemaError(`Cannot use the database: it ${is}, expected ${SERVER_VERSION_MIN / 10_000} or later`)
}
