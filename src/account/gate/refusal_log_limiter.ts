/** Rows of one organization in one second; one more row stands for all further refusals. */
const ROWS_MAX = 100
const LATE_MAX_SEC = 10

/**
 * Makes a limit for one process: whether a request refused at this moment, milliseconds since the epoch, gets a row in
 * the log. Refusals cost nothing and no rate limit bounds them: if each had a row, one key without credits could fill the
 * disk.
 */
export function createRefusalLogLimiter(rowsMax = ROWS_MAX) {
  const counts = new Map<string, number>()
  let second = 0
  return (organizationId: string, requestedAtMs: number): boolean => {
    const at = Math.floor(requestedAtMs / 1_000)
    // Late settlements count with the current second; a clock that was set back starts anew.
    if (at > second || at < second - LATE_MAX_SEC) {
      second = at
      counts.clear()
    }
    const count = (counts.get(organizationId) ?? 0) + 1
    counts.set(organizationId, count)
    return count <= rowsMax + 1
  }
}
