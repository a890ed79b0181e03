/** Which refused requests of an organization get a row in its log. */
interface RefusalLimit {
  /** True if a request that was refused at this moment is logged; milliseconds since the epoch. */
  logs(organizationId: string, requestedAtMs: number): boolean
}

/** Rows that refused requests of one organization get in one second; one more stands for all further ones. */
const ROWS_MAX = 100
const LATE_MAX_SEC = 10

/**
 * Makes a limit for one process. Refusals cost the caller nothing and are bounded by no rate limit: if each had a row,
 * one key without credits could fill the disk.
 */
export function createRefusalLimit(rowsMax = ROWS_MAX): RefusalLimit {
  const counts = new Map<string, number>()
  let second = 0
  return {
    logs(organizationId, requestedAtMs) {
      const at = Math.floor(requestedAtMs / 1_000)
      // Late settlements of the second before count with this one; a clock that was set back begins anew.
      if (at > second || at < second - LATE_MAX_SEC) {
        second = at
        counts.clear()
      }
      const count = (counts.get(organizationId) ?? 0) + 1
      counts.set(organizationId, count)
      return count <= rowsMax + 1
    },
  }
}
