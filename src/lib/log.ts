import { type Clock, repeat } from './clock.ts'

/** Severities, least first. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const

/** Severity of a line, or the threshold for writing. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Fields of one line: `msg` is a past-tense sentence; no secrets, no URLs of endpoints. */
interface LogFields {
  readonly msg: string
  readonly [field: string]: unknown
}

/** Log of JSON lines, one object each, with `time` and `level` first. */
export type Log = Readonly<Record<LogLevel, (fields: LogFields) => void>>

/**
 * Creates a log that passes lines to `write`, which adds the line end; lines below `level` are dropped before they are
 * built. The common `fields` precede a line's own.
 */
export function createLog(options: {
  readonly level: LogLevel
  readonly write: (line: string) => void
  readonly clock: Clock
  readonly fields?: Readonly<Record<string, unknown>>
}): Log {
  const { level: leastLevel, write, clock, fields: commonFields } = options
  const threshold = LOG_LEVELS.indexOf(leastLevel)
  const createWriter = (level: LogLevel) => (fields: LogFields) => {
    if (LOG_LEVELS.indexOf(level) < threshold) return
    const time = new Date(clock.now()).toISOString()
    write(JSON.stringify({ time, level, ...commonFields, ...fields }, toPlainValue))
  }
  return {
    debug: createWriter('debug'),
    info: createWriter('info'),
    warn: createWriter('warn'),
    error: createWriter('error'),
  }
}

/** A log that writes nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** How long lines of one kind are counted before the next one is written. */
const EVERY_MS = 60_000

interface ThrottledLine {
  times: number
  write: () => void
}

const kindsByLog = new WeakMap<Log, Map<string, ThrottledLine>>()

/**
 * Writes a line that may occur with every request: the first of its kind at once, then at most one a minute, the
 * latest, with the number of lines (`times`) that it represents. Kinds must be few and must not contain caller input.
 */
export function logThrottled(
  log: Log,
  { level, kind, clock }: { readonly level: LogLevel; readonly kind: string; readonly clock: Clock },
  fields: LogFields,
): void {
  const kinds = kindsByLog.get(log) ?? new Map<string, ThrottledLine>()
  kindsByLog.set(log, kinds)
  const repeated = kinds.get(kind)
  if (repeated !== undefined) {
    repeated.times++
    repeated.write = () => log[level]({ ...fields, times: repeated.times })
    return
  }
  const line: ThrottledLine = { times: 0, write: () => {} }
  kinds.set(kind, line)
  log[level](fields)
  const stop = repeat(
    clock,
    EVERY_MS,
    () => {
      if (line.times > 0) line.write()
      else {
        stop()
        kinds.delete(kind)
      }
      line.times = 0
    },
    { keepsAlive: false },
  )
}

/** Drops the counted lines of a kind, because the condition is over; the next line still waits for its minute. */
export function resetThrottled(log: Log, kind: string): void {
  const line = kindsByLog.get(log)?.get(kind)
  if (line !== undefined) line.times = 0
}

function toPlainValue(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack }
  return value
}
