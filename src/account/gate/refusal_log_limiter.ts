/** Rows of one organization in one second; one more row represents all further refusals. */
const ROWS_MAX = 100
const LATE_MAX_SEC = 10

/**
 * Creates a limiter for one process that decides whether a request refused at `requestedAtMs`, milliseconds since the
 * epoch, gets a row in the log. Refusals are free of charge and not rate-limited: with a row for each, one key without
 * credits could fill the disk.
 */
export function createRefusalLogLimiter(rowsMax = ROWS_MAX) {
  const counts = new Map<string, number>()
  let currentSec = 0
  return (organizationId: string, requestedAtMs: number): boolean => {
    const requestedSec = Math.floor(requestedAtMs / 1_000)
    // Late settlements count in the current second; a clock that was set back resets the counts.
    if (requestedSec > currentSec || requestedSec < currentSec - LATE_MAX_SEC) {
      currentSec = requestedSec
      counts.clear()
    }
    const count = (counts.get(organizationId) ?? 0) + 1
    counts.set(organizationId, count)
    return count <= rowsMax + 1
  }
}
