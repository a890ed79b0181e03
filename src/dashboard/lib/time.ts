const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })
const MOMENT = new Intl.DateTimeFormat('en', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  timeZone: 'UTC',
})

/** `at`: Unix seconds or ISO 8601. */
export function formatDay(at: number | string) {
  return DAY.format(toMs(at))
}

/** `at`: Unix seconds or ISO 8601. */
export function formatMoment(at: number | string) {
  return `${MOMENT.format(toMs(at))} UTC`
}

/**
 * Parses the moment of a link, ISO 8601 or Unix seconds, to Unix seconds; infinity for now. As in the service, a moment
 * without a zone is UTC.
 */
export function parseMoment(moment: string) {
  if (moment === '') return Number.POSITIVE_INFINITY
  if (/^\d+$/.test(moment)) return Number(moment)
  const hasZone = !moment.includes('T') || /(?:Z|[+-]\d\d:?\d\d)$/i.test(moment)
  return Date.parse(hasZone ? moment : `${moment}Z`) / 1000
}

function toMs(at: number | string) {
  return typeof at === 'number' ? at * 1000 : Date.parse(at)
}

/** Formats a count with its noun: `1 chain`, `2 chains`. */
export function pluralize(count: number, noun: string) {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`
}

/** Resolves after `ms`; rejects when `signal` fires. */
export function delay(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
