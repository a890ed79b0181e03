/**
 * What a statement may be given. Big numbers go as decimal strings; arrays of anything but text and numbers go as
 * text arrays cast in SQL (`$1::text[]::timestamptz[]`), because the driver encodes other arrays wrongly.
 */
export type Param = string | number | boolean | Date | Uint8Array | null | readonly string[] | readonly number[]

/**
 * Who a statement is for. Each lane has connections of its own, so that no lane waits for another: `gate` for what every
 * request needs before it is answered, `read` for what one caller asked for, `background` for what nobody waits for.
 */
export type LaneName = 'gate' | 'read' | 'background'

/** One PostgreSQL, asked one statement at a time: every change of state is a single statement, never a transaction. */
export interface Database {
  /**
   * Runs one prepared statement. Throws `UnavailableError` when the server is away, read-only, or silent past the
   * deadline, or when no connection of the lane gets free until then; `SqlError` when it refuses the statement.
   * The lane is `read` and the deadline 1,500 ms unless told otherwise; only `background` allows more than 10 s, and
   * `gate` no more than 1,500 ms.
   */
  run<Row extends object>(
    text: string,
    params: readonly Param[],
    options?: { readonly lane?: LaneName; readonly deadlineMs?: number },
  ): Promise<readonly Row[]>
  /** Closes every connection; returns within two seconds whatever hangs. */
  close(): Promise<void>
}

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
