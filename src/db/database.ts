/**
 * A parameter of a statement. Big numbers are sent as decimal strings; arrays of other types than text and numbers as
 * text arrays cast in SQL (`$1::text[]::timestamptz[]`), because the driver encodes other arrays wrongly.
 */
export type Param = string | number | boolean | Date | Uint8Array | null | readonly string[] | readonly number[]

/**
 * Kinds of statements. Each lane has its own connections, so that lanes never wait for each other: `gate` for
 * statements that every request needs, `read` for those of one caller, `background` for work that no caller waits for.
 * `copy` is `read` for long reads that a standby may serve, if there is one.
 */
export type LaneName = 'gate' | 'read' | 'copy' | 'background'

/** One PostgreSQL. Every change of state is a single statement, never a transaction of several. */
export interface Database {
  /**
   * Runs one prepared statement. Throws `UnavailableError` if the server is unreachable, read-only, or silent past the
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

/** PostgreSQL rejected a statement. `code` is the SQLSTATE; the message is for our log, never for a caller. */
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

/** SQLSTATE classes of data exceptions and integrity violations. */
const ROW_FAULT_CLASSES = ['22', '23']

/** True if PostgreSQL rejected a statement for the content of a row, so that a repetition would fail again. */
export function isRowFault(error: unknown): error is SqlError {
  return error instanceof SqlError && ROW_FAULT_CLASSES.includes(error.code.slice(0, 2))
}

/** The database is unusable: its server is too old, its schema newer or foreign, or a restore is unfinished. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** Minimum `server_version_num`: PostgreSQL 15. */
export const SERVER_VERSION_MIN = 150_000

/** The error for a server below the minimum; `description`: `is PostgreSQL 14.23`. */
export function serverTooOldError(description: string): SchemaError {
  return new SchemaError(`Cannot use the database: it ${description}, expected ${SERVER_VERSION_MIN / 10_000} or later`)
}
