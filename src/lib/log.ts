/** Severity, least first. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Fields of one line: `msg` is a past-tense sentence; no secrets, no URLs of endpoints. */
interface LogFields {
  readonly msg: string
  readonly [field: string]: unknown
}

/** JSON lines, one object each, with `time` and `level` first. */
export interface Log {
  debug(fields: LogFields): void
  info(fields: LogFields): void
  warn(fields: LogFields): void
  error(fields: LogFields): void
}

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** Makes a log that hands finished lines to `write`; lines below `level` are dropped before they are built. */
export function createLog(options: { readonly level: LogLevel; readonly write: (line: string) => void }): Log {
  const threshold = LEVELS.indexOf(options.level)
  const at = (level: LogLevel) => (fields: LogFields) => {
    if (LEVELS.indexOf(level) < threshold) return
    options.write(`${JSON.stringify({ time: new Date().toISOString(), level, ...fields }, plain)}\n`)
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A log that keeps nothing. */
export const silentLog: Log = createLog({ level: 'error', write: () => {} })

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack }
  return value
}
