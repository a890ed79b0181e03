import { requestLogPage } from '../../sql/functions.ts'
import type { Database } from '../db/database.ts'

/** Represents all paths without an endpoint: they are counted together, because callers can invent any number. */
export const NO_ENDPOINT = ''

/** Selects entries of an organization's log. Bounds are milliseconds since the epoch. */
export interface RequestLogFilter {
  readonly organizationId: string
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
  readonly apiKeyId?: string | undefined
  /** As counted: an endpoint's template with canonical names, or `NO_ENDPOINT`. */
  readonly path?: string | undefined
  readonly statusCode?: number | undefined
  readonly errors: 'all' | 'success' | 'errors'
}

const STATUS_RANGES = { all: [100, 599], success: [100, 399], errors: [400, 599] } as const

/**
 * Reads one page of the log, newest first, and the exact number of matching entries. A key of another organization
 * matches no entry. Throws `UnavailableError`.
 */
export async function readRequestLog(
  db: Database,
  filter: RequestLogFilter & { readonly page: number; readonly limit: number },
) {
  const [lowest, highest] = STATUS_RANGES[filter.errors]
  const { organizationId, fromMs, apiKeyId = null, path = null, limit } = filter
  const rows = await requestLogPage(db, {
    organizationId,
    fromMs,
    toMs: Math.max(fromMs, filter.toMs),
    apiKeyId,
    path,
    statusMin: Math.max(lowest, filter.statusCode ?? lowest),
    statusMax: Math.min(highest, filter.statusCode ?? highest),
    offset: (filter.page - 1) * limit,
    limit,
  })
  const entries = rows.filter(isEntry).map(({ total, method, path, status, latency_ms, credits, ...rest }) => {
    return { method, path, status_code: status, latency_ms, credits_charged: credits, ...rest }
  })
  return { total: Number(rows[0]?.total ?? 0), entries }
}

type Row = Awaited<ReturnType<typeof requestLogPage>>[number]

/** True for an entry: an empty page has one row with the total alone. */
function isEntry(row: Row): row is { [Name in keyof Row]: NonNullable<Row[Name]> } {
  return row.method !== null
}
