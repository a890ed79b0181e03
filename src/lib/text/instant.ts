const INSTANT =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))?)?$/
const DAY_MS = 86_400_000
const OFFSET_MINUTES_MAX = 14 * 60

/**
 * Parses a date (its first or last millisecond) or an ISO 8601 timestamp, UTC without a zone, to milliseconds since the
 * epoch; undefined if it is before 1970 or no such time exists, as on 30 February.
 */
export function parseInstantMs(text: string, edge: 'first' | 'last' = 'first'): number | undefined {
  const match = INSTANT.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour, minute, second, fraction, sign, offsetHour, offsetMinute] = match
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day))
  // Date.UTC accepts 30 February as a day of March.
  if (Number(year) < 1970 || new Date(midnight).toISOString().slice(0, 10) !== text.slice(0, 10)) return undefined
  if (hour === undefined) return edge === 'first' ? midnight : midnight + DAY_MS - 1
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? 0) > 59) return undefined
  const offset = Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)
  if (Number(offsetMinute ?? 0) > 59 || offset > OFFSET_MINUTES_MAX) return undefined
  const minutes = Number(hour) * 60 + Number(minute) - (sign === '-' ? -offset : offset)
  const ms = Number((fraction ?? '').padEnd(3, '0').slice(0, 3))
  return midnight + minutes * 60_000 + Number(second ?? 0) * 1000 + ms
}
