const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** Pauses after the first failed try, the second and so on; after the last try there is none. */
const PAUSES_MS = [
  ...[5 * SECOND_MS, 30 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2 * HOUR_MS, 6 * HOUR_MS, 12 * HOUR_MS, 24 * HOUR_MS],
]
/** By how much chance lengthens or shortens a pause, so that what failed together is not tried together again. */
const JITTER = 0.2

/** So many tries of one message are made. */
export const ATTEMPTS_MAX = PAUSES_MS.length + 1

/**
 * The pause before the next try, milliseconds, after so many tries have failed; undefined if none follows. It is at least
 * what the receiver asked for. `random` is from 0 to below 1.
 */
export function computeRetryDelay(
  tries: number,
  { retryAfterSec, random }: { readonly retryAfterSec: number | null; readonly random: number },
): number | undefined {
  const usualMs = PAUSES_MS[tries - 1]
  if (usualMs === undefined) return undefined
  const chosenMs = usualMs * (1 + JITTER * (2 * random - 1))
  return Math.round(Math.max(chosenMs, (retryAfterSec ?? 0) * SECOND_MS))
}
