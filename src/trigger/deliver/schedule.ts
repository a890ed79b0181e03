const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Pauses after the first failed attempt, the second and so on; after the last attempt there is none. */
const PAUSES_MS = [
  ...[5 * SECOND_MS, 30 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, 24 * HOUR_MS],
]
/** Jitter of a pause, so that messages that failed together are not retried together. */
const JITTER = 0.2

/** Maximum attempts per message. */
export const ATTEMPTS_MAX = PAUSES_MS.length + 1

/**
 * The pause before the next attempt, milliseconds, after this many failed attempts; undefined if none follows. At least
 * the receiver's `Retry-After`. `random` is from 0 to below 1.
 */
export function computeRetryDelay(
  attempts: number,
  { retryAfterSec, random }: { readonly retryAfterSec: number | null; readonly random: number },
): number | undefined {
  const usualMs = PAUSES_MS[attempts - 1]
  if (usualMs === undefined) return undefined
  const chosenMs = usualMs * (1 + JITTER * (2 * random - 1))
  return Math.round(Math.max(chosenMs, (retryAfterSec ?? 0) * SECOND_MS))
}
