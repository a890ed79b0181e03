import { requestLogPage } from '../../sql/functions.ts'
import type { Database } from '../db/database.ts'

/** Stands for all paths without an endpoint: they are counted together, because callers invent them. */
export const NOWHERE = ''

/** Which entries of an organization's log to read. Bounds are milliseconds since the epoch. */
export interface RequestLogFilter {
  readonly organizationId: string
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
  readonly apiKeyId?: string | undefined
  /** As counted: an endpoint's template with canonical names, or `NOWHERE`. */
  readonly path?: string | undefined
  readonly statusCode?: number | undefined
  readonly errors: 'all' | 'success' | 'errors'
}

/** One request of an organization. */
interface RequestLogEntry {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly latencyMs: number
  readonly credits: number
  readonly requestedAt: Date
  readonly apiKeyId: string
  readonly apiKeyName: string
}

/** One page, newest first, and the exact number of entries that match. */
export interface RequestLogPage {
  readonly total: number
  readonly entries: readonly RequestLogEntry[]
}

/** Lowest and highest status of each choice of `errors`. */
const STATUS_RANGES = { all: [100, 599], success: [100, 399], errors: [400, 599] } as const

/** Reads one page of the log. A key of another organization matches nothing. Throws `UnavailableError`. */
export async function readRequestLog(
  db: Database,
  filter: RequestLogFilter & { readonly page: number; readonly limit: number },
): Promise<RequestLogPage> {
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
  return { total: Number(rows[0]?.total ?? 0), entries: rows.flatMap(entryFrom) }
}

function entryFrom(row: Awaited<ReturnType<typeof requestLogPage>>[number]): RequestLogEntry[] {
  const { method, path, status, latency_ms, credits, requested_at, api_key_id, api_key_name } = row
  if (method === null || path === null || status === null || latency_ms === null) return []
  if (credits === null || requested_at === null || api_key_id === null || api_key_name === null) return []
  return [
    {
      method,
      path,
      status,
      latencyMs: latency_ms,
      credits,
      requestedAt: requested_at,
      apiKeyId: api_key_id,
      apiKeyName: api_key_name,
    },
  ]
}
