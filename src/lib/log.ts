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

/**
 * Makes a log that hands lines to `write`, which ends them; lines below `level` are dropped before they are built. Each
 * has the same `fields` before its own.
 */
export function createLog(options: {
  readonly level: LogLevel
  readonly write: (line: string) => void
  readonly fields?: Readonly<Record<string, unknown>>
}): Log {
  const threshold = LOG_LEVELS.indexOf(options.level)
  const at = (level: LogLevel) => (fields: LogFields) => {
    if (LOG_LEVELS.indexOf(level) < threshold) return
    options.write(JSON.stringify({ time: new Date().toISOString(), level, ...options.fields, ...fields }, plain))
  }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** A log that keeps nothing. */
export const silentLog: Log = createLog({ level: 'error', write: () => {} })

/** How long lines of one kind are counted before one more is written. */
const EVERY_MS = 60_000

interface Counted {
  times: number
  write: () => void
}

const kindsOf = new WeakMap<Log, Map<string, Counted>>()

/**
 * Writes a line that may come with every request: the first of its kind at once, then at most one a minute, the latest,
 * with the `times` that it stands for. Kinds must be few: no caller's text is part of one.
 */
export function logThrottled(
  log: Log,
  { level, kind, everyMs = EVERY_MS }: { readonly level: LogLevel; readonly kind: string; readonly everyMs?: number },
  fields: LogFields,
): void {
  const kinds = kindsOf.get(log) ?? new Map<string, Counted>()
  kindsOf.set(log, kinds)
  const known = kinds.get(kind)
  if (known !== undefined) {
    known.times++
    known.write = () => log[level]({ ...fields, times: known.times })
    return
  }
  const counted: Counted = { times: 0, write: () => {} }
  kinds.set(kind, counted)
  log[level](fields)
  const timer = setInterval(() => {
    if (counted.times > 0) counted.write()
    else {
      clearInterval(timer)
      kinds.delete(kind)
    }
    counted.times = 0
  }, everyMs)
  timer.unref()
}

/** Drops what was counted of a kind, because it is over; the next one still waits for its minute. */
export function resetThrottled(log: Log, kind: string): void {
  const counted = kindsOf.get(log)?.get(kind)
  if (counted !== undefined) counted.times = 0
}

function plain(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack }
  return value
}
