/** Severities, least first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** Severity of a line, or the least that is written. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Fields of one line: `msg` is a past-tense sentence; no secrets, no URLs of endpoints. */
interface LogFields {
  readonly msg: string
  readonly [field: string]: unknown
}

/** JSON lines, one object each, with `time` and `level` first. */
export type Log = Readonly<Record<LogLevel, (fields: LogFields) => void>>

/** Makes a log that hands lines to `write`, which ends them; lines below `level` are dropped before they are built. */
export function createLog(options: { readonly level: LogLevel; readonly write: (line: string) => void }): Log {
  const threshold = LOG_LEVELS.indexOf(options.level)
  const at = (level: LogLevel) => (fields: LogFields) => {
    if (LOG_LEVELS.indexOf(level) < threshold) return
    options.write(JSON.stringify({ time: new Date().toISOString(), level, ...fields }, plain))
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
